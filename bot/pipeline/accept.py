"""Intake: one durable write before a webhook's 200; then the worker of this process, if it has one,
is told. What could not be stored is refused, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from msgspec.structs import replace

from bot.channels import STOP, Accept, InboundEvent
from bot.clock import now_ms
from bot.errors import StoreUnavailable
from bot.interrupts import TOPIC, Interrupt
from bot.pipeline.feature import Feature, ParsedEvent
from bot.pipeline.select import (
    CANNED,
    CONVERSATION_DELETED,
    LEFT_OUT,
    parse,
)
from bot.pipeline.services import HERE, Services
from bot.store import ANSWER_S, ARRIVAL, ASIDE, CHANGE, CONTROL, Accepted, translate_errors
from bot.telemetry import Metrics
from bot.telemetry.observed import INCOMING
from bot.transcript import Message, Part, Text, channel_of, encode

log = structlog.stdlib.get_logger(__name__)

MAX_CHARACTERS = 20_000  # characters of a message; LINE takes 5,000, Slack 40,000
SAMPLE = 100  # characters of a message that is left out: enough to know its language
ALWAYS_ACCEPTED = ("unsent", "members_left", CONVERSATION_DELETED)  # events, also by a full inbox
LEFT_OUT_PAUSE_MS = 60_000  # between two sentences about messages that were left out
PAUSE_S = 60.0  # between two log lines of refusals for one cause


class Intake:
    """Accepts messages of every channel (``bot.channels.Accept``).

    Attributes:
        closed: accept nothing more, as the process ends.
    """

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._commands = services.commands
        self._start = services.start
        self._metrics = services.metrics
        self._features = services.features
        self._settings_of = services.settings_of
        self.closed = False

    async def __call__(self, conversation: str, event: InboundEvent) -> bool:
        """Accept one event; false if its id is known already, or nobody is to answer it.

        A full inbox leaves the event out, and its conversation gets a sentence about that, once a
        minute.

        Raises:
            StoreUnavailable: nothing was stored, or this process is shutting down; the platform
                must send it again.
        """
        if self.closed:
            raise StoreUnavailable("shutting down", cause="stopping")
        HERE.set(conversation)
        speak = self._settings_of(conversation, event.author_id).speak
        if speak == "never" and not (event.is_change or event.event in ALWAYS_ACCEPTED):
            return False
        if speak == "all" and event.unmentioned:
            event = replace(event, unmentioned=False)
        if event.event == "action" and event.action != STOP:
            if event.action not in self._features.actions:
                return False
            if (press := self._features.actions[event.action]) is not None:
                return await press(conversation, event)
        if event.unmentioned and not await self._overhear(conversation, event):
            return False
        channel = channel_of(conversation)
        if len(event.message.text) > MAX_CHARACTERS:
            event = replace(event, message=_cut(event.message))
        if traceparent := INCOMING.get():
            event = replace(event, traceparent=traceparent)
        parsed = parse(event, self._commands)
        accepted = await self._accept(conversation, event, _kind_of(parsed))
        if accepted is Accepted.FULL and event.unmentioned:
            log.warning("inbox.full", conversation=conversation)
            return False
        if accepted is Accepted.FULL:
            self._metrics.left_out.labels(channel).inc()
            event = _left_out(event)
            accepted = await self._accept(conversation, event, ASIDE)
            if accepted:
                log.warning("inbox.full", conversation=conversation)
        elif accepted:
            self._metrics.accepted.labels(channel).inc()
        if accepted is not Accepted.LEASED:
            # A duplicate too: the process of the first one may have died between the write and this
            # line.
            self._start(conversation, event.author_id if parsed.is_text else "")
        if accepted is Accepted.LEASED:
            await self._tell_turn(conversation, parsed)
        return bool(accepted)

    async def _tell_turn(self, conversation: str, parsed: ParsedEvent) -> None:
        """Tell the process that has the lease, whichever it is, what concerns a turn under way."""
        event = parsed.event
        if parsed.is_stop or event.is_change:
            is_unsent = event.event == "unsent"
            interrupt = Interrupt(conversation, event.message.id, event.target, is_unsent)
            await self._store.live.publish(TOPIC, encode(interrupt))

    async def _overhear(self, conversation: str, event: InboundEvent) -> bool:
        """Have features take in an unmentioned message; what they ask the store leaves together."""
        hooks = self._features.hooks(Feature.overhear)
        async with translate_errors(ANSWER_S):  # the webhook's sender waits
            return any(await asyncio.gather(*(hook(conversation, event) for hook in hooks)))

    async def _accept(self, conversation: str, event: InboundEvent, kind: str) -> Accepted:
        """Store the event. Stops, presses and deletions get into a full inbox too."""
        always = kind == CONTROL or event.event in ALWAYS_ACCEPTED or event.target == LEFT_OUT
        is_called = event.event == "message" and not event.unmentioned
        answers = is_called and self._commands.answer(event.message.text) is not None
        return await self._store.inbox.accept(
            conversation,
            event.message.id,
            encode(event),
            kind,
            indexed=event.indexed,
            changed_id=event.target if event.is_change else "",
            unsends=event.event == "unsent",
            always=always,
            answers=answers,
        )


def _kind_of(parsed: ParsedEvent) -> str:
    """The kind of the inbox entry: what may join a turn under way, and what waits for the turn's
    end."""
    if parsed.event.is_change:
        return CHANGE
    if parsed.event.event == "action" or parsed.is_stop:
        return CONTROL
    if parsed.is_text and not parsed.event.unmentioned:
        return ARRIVAL
    return ASIDE


def _cut(message: Message) -> Message:
    """Cut a long message, and say so at its end."""
    length, remaining, parts = len(message.text), MAX_CHARACTERS, list[Part]()
    for part in message.parts:
        if isinstance(part, Text):
            parts.append(Text(part.text[:remaining]))
            remaining = max(remaining - len(part.text), 0)
        else:
            parts.append(part)
    mark = (
        f"\n[The message breaks off here: it had {length:,} characters, and {MAX_CHARACTERS:,} "
        "are read at most.]"
    )
    return replace(message, parts=(*parts, Text(mark)))


def _left_out(event: InboundEvent) -> InboundEvent:
    """The event that a full inbox takes in place of a message; its id is new once a minute."""
    message = event.message
    sample = (Text(message.text[:SAMPLE]),)
    mark = replace(message, id=f"left_out_{now_ms() // LEFT_OUT_PAUSE_MS}", parts=sample)
    return InboundEvent(mark, event.address, event.group, CANNED, LEFT_OUT)


class Refusals:
    """Passes events to the intake (``bot.channels.Accept``), and records those that it refuses.

    Args:
        alarm: called where the store is full, at the first refusal and after a minute without any.
    """

    def __init__(
        self,
        accept: Accept,
        metrics: Metrics,
        alarm: Callable[[], Awaitable[None]],
        pause_s: float = PAUSE_S,
    ) -> None:
        self._accept = accept
        self._metrics = metrics
        self._alarm = alarm
        self._pause_s = pause_s
        self._unlogged: dict[str, int] = {}  # by cause; a cause is in it for the pause after a line

    async def __call__(self, conversation: str, event: InboundEvent, /) -> bool:
        """Accept one event.

        Raises:
            StoreUnavailable: the intake has refused it.
        """
        try:
            return await self._accept(conversation, event)
        except StoreUnavailable as error:
            await self._record(channel_of(conversation), error)
            raise

    @property
    def cause(self) -> str:
        """Why events were refused within the last minute; empty if none was."""
        return next(iter(self._unlogged), "")

    async def _record(self, channel: str, error: StoreUnavailable) -> None:
        self._metrics.refused.labels(channel, error.cause).inc()
        if error.cause == "stopping":  # another process takes what is sent again
            return
        if error.cause in self._unlogged:
            self._unlogged[error.cause] += 1
            return
        self._log(error.cause, error.fix, 1)
        if error.cause == "full":
            await self._alarm()

    def _log(self, cause: str, fix: str, count: int) -> None:
        """Write a line, and have the next one written after a pause, if there is anything to
        say."""
        log.error("store.messages_refused", cause=cause, count=count, fix=fix)
        self._unlogged[cause] = 0
        asyncio.get_running_loop().call_later(self._pause_s, self._end_pause, cause, fix)

    def _end_pause(self, cause: str, fix: str) -> None:
        if count := self._unlogged.pop(cause):
            self._log(cause, fix, count)
