"""The way in: one durable write, nothing else before a webhook's 200; a worker gets a hint that nobody waits for."""

from __future__ import annotations

from typing import Protocol

import structlog
from msgspec.structs import replace

from bot.agent.turn import now_ms
from bot.channels import InboundEvent
from bot.commands import SpokenCommands
from bot.conversation.cancellation import TOPIC
from bot.conversation.triage import is_stop, is_text
from bot.errors import StoreUnavailable
from bot.metrics import Metrics
from bot.store import ARRIVAL, ASIDE, CHANGE, CONTROL, Accepted, Store
from bot.transcript import Message, Part, Text, channel_of, encode

log = structlog.stdlib.get_logger(__name__)

MOST = 20_000  # characters of a message; LINE takes 5,000, Slack 40,000
SAMPLE = 100  # of a message that is left out: enough to tell its language
PAUSE_MS = 60_000  # between two such sentences


class Jobs(Protocol):
    """Hints that a conversation is due, for some worker; nothing depends on them."""

    async def add(self, conversation: str, key: str) -> None:
        """Add a job, without waiting for anybody; one with a key that is known already may be dropped."""
        ...


class Intake:
    """Accepts messages of every channel (``bot.channels.Accept``)."""

    def __init__(self, store: Store, jobs: Jobs, commands: SpokenCommands, metrics: Metrics) -> None:
        self._store = store
        self._commands = commands
        self._jobs = jobs
        self._metrics = metrics
        self.closed = False

    async def __call__(self, conversation: str, event: InboundEvent) -> bool:
        """Accept one message; false where its id was seen before.

        One that a full inbox does not take is left out, and its conversation gets a sentence about it, once a minute.

        Raises:
            StoreUnavailable: nothing was kept, or this process is shutting down: the platform must send it again.
        """
        if self.closed:
            raise StoreUnavailable("shutting down")
        channel = channel_of(conversation)
        event = replace(event, message=_capped(event.message))
        kind = self._kind_of(event)
        accepted = await self._accept(conversation, event, kind)
        if accepted is Accepted.FULL:
            self._metrics.left_out.labels(channel).inc()
            event = _left_out(event)
            accepted = await self._accept(conversation, event, ASIDE)
            if accepted:
                log.warning("inbox.full", conversation=conversation)
        elif accepted:
            self._metrics.accepted.labels(channel).inc()
        message_id = event.message.id
        if accepted is not Accepted.ATTENDED:
            # A duplicate gets its job too: the first one may have died between the write and this line.
            await self._jobs.add(conversation, f"{conversation}/{message_id}")
        if accepted is Accepted.ATTENDED and is_stop(event, self._commands):
            await self._store.live.publish(TOPIC, conversation.encode())
        return bool(accepted)

    async def _accept(self, conversation: str, event: InboundEvent, kind: str) -> Accepted:
        """What stops, decides or takes back always gets in."""
        always = kind == CONTROL or event.event in ("unsent", "left") or event.left_out
        decides = event.event == "message" and self._commands.decision(event.message.text) is not None
        entry = (event.message.id, encode(event), kind)
        return await self._store.inbox.accept(conversation, *entry, always=always, decides=decides)

    def _kind_of(self, event: InboundEvent) -> str:
        """What may join a turn under way, and what has to wait for its end."""
        if event.event in ("edited", "unsent"):
            return CHANGE
        if event.event == "decision" or is_stop(event, self._commands):
            return CONTROL
        return ARRIVAL if is_text(event, self._commands) else ASIDE


def _capped(message: Message) -> Message:
    """The message with so many of its words as are kept, and a mark where they break off."""
    came = len(message.text)
    if came <= MOST:
        return message
    left, parts = MOST, list[Part]()
    for part in message.parts:
        if isinstance(part, Text):
            parts.append(Text(part.text[:left]))
            left = max(left - len(part.text), 0)
        else:
            parts.append(part)
    mark = f"\n[The message breaks off here: it had {came:,} characters, and {MOST:,} are read at most.]"
    return replace(message, parts=(*parts, Text(mark)))


def _left_out(event: InboundEvent) -> InboundEvent:
    """What is answered in the place of messages that are left out; its id is taken in once a minute."""
    message = event.message
    sample = (Text(message.text[:SAMPLE]),)
    mark = replace(message, id=f"left_out_{now_ms() // PAUSE_MS}", parts=sample)
    return InboundEvent(mark, event.address, event.group, "told", "apology.rate_limited", left_out=True)
