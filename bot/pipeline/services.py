"""What the services of conversations share: store, channels, texts, and the operator's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.agent.turn import NOBODY
from bot.channels import Channel, InboundEvent, Reply
from bot.clock import Days, usable_zone
from bot.commands import SpokenCommands
from bot.pipeline.alerts import Alerts
from bot.pipeline.features import Features
from bot.providers import Provider
from bot.settings import Settings
from bot.store import Lease, Store
from bot.telemetry import Metrics
from bot.texts import Texts, language_for
from bot.transcript import Message, channel_of
from toolset.tool_map import ToolMap

# Tells this process's worker of a conversation that is due, and the id of the person who waits for
# an answer; empty if nobody does.
Start = Callable[[str, str], None]
# A model by its name, with its fallbacks after it, and the variable that names them; raises
# SettingsError.
FindModel = Callable[[tuple[str, ...], str], Provider]
UTC = Days("UTC")


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
