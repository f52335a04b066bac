"""What the stages of the pipeline share: store, channels, texts and settings, notices to the
operator, and messages between processes that interrupt a turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.agent.turn import NOBODY
from bot.channels import Channel, Delivery, InboundEvent, Reply
from bot.clock import Days, usable_zone
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.pipeline.features import Features
from bot.providers import Provider
from bot.settings import Settings
from bot.store import Lease, Store
from bot.tasks import run_beside
from bot.telemetry import Metrics
from bot.texts import Texts, language_for
from bot.transcript import Message, channel_of, encode
from toolset.tool_map import ToolMap

# Tells this process's worker of a conversation that is due, and the id of the person who waits for
# an answer; empty if nobody does.
Start = Callable[[str, str], None]
# A model by its name, with its fallbacks after it, and the variable that names them; raises
# SettingsError.
FindModel = Callable[[tuple[str, ...], str], Provider]
UTC = Days("UTC")
log = structlog.stdlib.get_logger(__name__)
# Failures of turns that only the operator can fix: the cause of the alert, by the key of the
# apology.
ALARMING: Mapping[str, str] = {
    "key_refused": "key_refused",
    "model_unknown": "model_unknown",
    "model_unfit": "model_unfit",
    "rate_limited": "rate_limited",
    "credit_used_up": "rate_limited",
}
TOPIC = "turns"  # of messages between processes, which are an ``Interrupt`` each
LISTEN_AGAIN_S = 1.0
MISSED_S = 5.0


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults for authors without language or time zone, and values for sentences of the
    catalogue.

    Attributes:
        language: ``en`` or ``ja``.
        time_zone: IANA name.
    """

    language: str = "en"
    time_zone: str = "UTC"
    bot_name: str = "Kaiwa"
    history_days: int = 30

    @classmethod
    def of(cls, settings: Settings) -> Defaults:
        """Read them from all settings."""
        return cls(settings.language, settings.timezone, settings.bot_name, settings.history_days)


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """The operator's settings for conversations.

    Attributes:
        history_tokens: of the history in a request, at most.
        days: the calendar of limits and alerts.
        alert_to: who gets alerts, ``slack:C…`` or ``line:U…``; empty: only the log.
    """

    defaults: Defaults = Defaults()
    history_tokens: int = 16_000
    days: Days = UTC
    alert_to: str = ""

    @classmethod
    def of(cls, settings: Settings) -> ConversationSettings:
        """Read them from all settings."""
        return cls(
            Defaults.of(settings),
            history_tokens=settings.history_tokens,
            days=Days(settings.timezone),
            alert_to=settings.alert_to,
        )


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn needs besides the agent.

    Attributes:
        channels: all channels that are on, by name.
        days: the calendar of limits and alerts.
        other_models: those that answer nobody, but features ask, by ``provider:model``.
    """

    store: Store
    provider: Provider
    channels: Mapping[str, Channel]
    texts: Texts
    commands: SpokenCommands
    metrics: Metrics
    alerts: Alerts
    days: Days
    defaults: Defaults
    other_models: Mapping[str, Provider]
    features: Features
    models: FindModel
    start: Start
    tools: ToolMap

    def channel(self, conversation: str) -> Channel | None:
        """The channel of a conversation; None if it is off."""
        return self.channels.get(channel_of(conversation))

    def place(self, conversation: str) -> str:
        """What the conversation shares its people's things with, such as its channel."""
        channel = self.channel(conversation)
        return channel.place(conversation).id if channel else conversation

    async def current_address(self, lease: Lease, event: InboundEvent, reply: Reply) -> str:
        """The address of a reply to an event that is ready now, without what has expired of it."""
        channel = self.channels[channel_of(lease.conversation)]
        if not channel.abilities.expires:
            return event.address
        address = channel.validity(event.address).now
        if address != event.address and reply.keep != "if_free":
            await self.features.address_expired(lease, event, private=reply.private)
        return address

    async def with_names(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Messages of a group with the names of their authors."""
        channel = self.channel(conversation)
        if not messages or channel is None:
            return list(messages)
        events = [InboundEvent(message, group=True) for message in messages]
        return [one.message for one in await channel.enrich(conversation, events, is_new=False)]

    def language(self, event: InboundEvent) -> str:
        """The language in which the event's author is answered."""
        text, locale = event.message.text, (event.message.author or NOBODY).locale
        is_command = self.commands.read(text) is not None
        return language_for(text, locale, self.defaults.language, is_command=is_command)

    def sentence(self, key: str, event: InboundEvent, **values: object) -> str:
        """A sentence of the catalogue in the language of the event's author."""
        known = {"bot_name": self.defaults.bot_name, "days": self.defaults.history_days}
        return self.texts.get(key, self.language(event), **known, **values)

    def private_reply(self, key: str, event: InboundEvent, **values: object) -> Reply:
        """A sentence for its reader alone where the platform can do that; it never becomes a dead
        letter."""
        text = self.sentence(key, event, **values)
        return Reply(text, private=event.group, keep="until_refused")

    def time_zone(self, event: InboundEvent) -> str:
        """The author's time zone; the bot's if the author's is unknown."""
        return usable_zone((event.message.author or NOBODY).time_zone, self.defaults.time_zone)


class Alerts:
    """Sends alerts.

    A notice goes into the outbox of a conversation of its own. So it survives a crash, is retried,
    and is sent once even if several processes raise the alert.

    Channels raise alerts too, so they are opened after this object. Before ``connect`` alerts go
    only to the log.

    Args:
        language: of the notices.
        recipient: ``slack:C…`` or ``line:U…``; empty: only the log.
    """

    def __init__(
        self, store: Store, texts: Texts, days: Days, language: str, recipient: str = ""
    ) -> None:
        self._store = store
        self._texts = texts
        self._days = days
        self._language = language
        self._platform, _, self._recipient = recipient.partition(":")
        self._channel: Channel | None = None
        self._sent: tuple[str, set[str]] = ("", set())

    def connect(self, channels: Mapping[str, Channel]) -> None:
        """Send alerts through the operator's channel from now on, if it is one of these."""
        self._channel = channels.get(self._platform)

    async def notice(self, cause: str, detail: str = "", *, platform: str = "") -> None:
        """Send an alert, unless its cause had one today. Never raises.

        Args:
            cause: a key of the catalogue's table ``alert``.
            detail: for its sentence.
            platform: the channel that fails; a notice that would go through it is only logged.
        """
        day = self._days.today
        if self._sent[0] != day:
            self._sent = (day, set())
        name = f"notice_{day}_{cause}{f'_{platform}' if platform else ''}"
        if name in self._sent[1]:
            return
        self._sent[1].add(name)
        text = self._texts.get(f"alert.{cause}", self._language, platform=platform, detail=detail)
        log.error("alert.raised", cause=cause, notice=text)
        if self._channel is None or self._platform == platform:
            return
        # Nobody writes in this conversation, so a notice waits for no turn.
        conversation = f"{self._platform}:notices:{self._recipient}"
        try:
            await self._store.outbox.post(
                conversation, name, encode(Delivery(name, name, Reply(text)))
            )
        except StoreUnavailable as error:
            self._sent[1].discard(name)
            log.warning("alert.not_sent", alert=cause, cause=str(error))


class Interrupt(Struct, frozen=True):
    """An event in a conversation's inbox concerns the turn under way.

    Attributes:
        message_id: the message that it edits or, if ``is_unsent``, takes back; empty: it stops the
            turn.
    """

    conversation: str
    event_id: str
    message_id: str = ""
    is_unsent: bool = False


_decode = Decoder(Interrupt).decode


@dataclass(slots=True)
class Run:
    """A turn under way.

    Attributes:
        change: ends the turn's request to the model if the change concerns it.
        stopped: why the time limit is over.
    """

    limit: asyncio.Timeout
    change: Callable[[Interrupt], None]
    stopped: bool = False


class RunningTurns:
    """Interrupts the turns of this process: a stop ends one, by its time limit; a change of a
    message restarts its request."""

    def __init__(self, store: Store) -> None:
        self._live = store.live
        self._runs: dict[str, Run] = {}
        self._missed: dict[str, float] = {}  # when an interrupt found no turn

    @contextmanager
    def track(
        self, conversation: str, limit: asyncio.Timeout, change: Callable[[Interrupt], None]
    ) -> Iterator[Run]:
        """While the context is open, a stop makes the limit expire, and a change calls
        ``change``."""
        run = self._runs[conversation] = Run(limit, change)
        try:
            yield run
        finally:
            del self._runs[conversation]

    def interrupt(self, interrupt: Interrupt) -> None:
        """Tell the conversation's turn, if one is under way here and has not ended already."""
        run = self._runs.get(interrupt.conversation)
        if run is None:
            self._note_missed(interrupt.conversation)
        elif interrupt.message_id:
            run.change(interrupt)
        elif not run.stopped and not run.limit.expired():
            run.stopped = True
            run.limit.reschedule(asyncio.get_running_loop().time())

    def take_missed(self, conversation: str) -> bool:
        """Whether something came just before the conversation's turn was tracked; its inbox holds
        it."""
        return self._missed.pop(conversation, None) is not None

    def _note_missed(self, conversation: str) -> None:
        now = time.monotonic()
        _ = self._missed.pop(conversation, None)
        self._missed[conversation] = now  # the newest is the last
        while now - self._missed[oldest := next(iter(self._missed))] >= MISSED_S:
            del self._missed[oldest]

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[None]:
        """While the context is open, obey what any process publishes under ``TOPIC``."""
        async with run_beside(self._listen()):
            yield

    async def _listen(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._live.subscribe(TOPIC) as messages:
                    async for message in messages:
                        self.interrupt(_decode(message))
            await asyncio.sleep(LISTEN_AGAIN_S)
