"""What all services of a conversation share: the store, the channels, the catalogue, the operator's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bot.agent.turn import NOBODY
from bot.channels import Channel, InboundEvent
from bot.clock import Days, usable_zone
from bot.commands import SpokenCommands
from bot.conversation.alerts import Alerts
from bot.conversation.limits import Budgets, Limits
from bot.metrics import Metrics
from bot.settings import Settings
from bot.store import Store
from bot.texts import Texts
from bot.transcript import channel_of

Mode = Literal["ask", "auto_reject", "auto_approve"]
UTC = Days("UTC")
UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a message does not say, and what our own sentences are filled in with.

    Attributes:
        language: ``en`` or ``ja``.
        time_zone: IANA name.
    """

    language: str = "en"
    time_zone: str = "UTC"
    bot_name: str = "Kaiwa"
    history_days: int = 30


@dataclass(frozen=True, slots=True)
class Policy:
    """Who decides about calls that act.

    Attributes:
        ttl_s: seconds a question stays open.
        approvers: ids of people who may decide beside the one who asked.
    """

    mode: Mode = "ask"
    ttl_s: int = 3_600
    approvers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """The operator's settings, as far as conversations go.

    Attributes:
        history_tokens: of history sent with a request, at most.
        days: by which limits and alerts are counted.
        alert_to: who gets alerts, ``slack:C…`` or ``line:U…``; empty: the log alone.
    """

    defaults: Defaults = Defaults()
    policy: Policy = Policy()
    limits: Limits = UNLIMITED
    history_tokens: int = 16_000
    days: Days = UTC
    alert_to: str = ""

    @classmethod
    def of(cls, settings: Settings) -> ConversationSettings:
        """As the operator has set them."""
        return cls(
            Defaults(settings.language, settings.timezone, settings.bot_name, settings.history_days),
            Policy(settings.approval_mode, settings.approval_ttl_s, settings.approvers),
            Limits.of(settings),
            settings.history_tokens,
            Days(settings.timezone),
            settings.alert_to,
        )


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn needs beside the agent.

    Attributes:
        channels: by name, complete.
    """

    store: Store
    channels: Mapping[str, Channel]
    texts: Texts
    commands: SpokenCommands
    metrics: Metrics
    alerts: Alerts
    budgets: Budgets
    defaults: Defaults
    policy: Policy

    def channel(self, conversation: str) -> Channel | None:
        """The channel of a conversation; None where it is switched off."""
        return self.channels.get(channel_of(conversation))

    def time_zone(self, event: InboundEvent) -> str:
        """The author's time zone, or the bot's."""
        return usable_zone((event.message.author or NOBODY).time_zone, self.defaults.time_zone)
