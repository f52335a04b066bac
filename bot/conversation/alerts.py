"""Alerts to the operator: each cause once a day, by message and in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import structlog

from bot.channels import Channel, Delivery, Reply
from bot.clock import Days
from bot.errors import StoreUnavailable
from bot.store import Store
from bot.texts import Texts
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

Cause = Literal[
    "tokens_low",
    "tokens_used_up",
    "key_refused",
    "model_unknown",
    "model_unfit",
    "rate_limited",
    "dead_letters",
    "store_full",
    "line_month",
    "token_refused",
]

# What a turn fails of that only the operator can fix, by the key of its apology.
ALARMING: Mapping[str, Cause] = {
    "key_refused": "key_refused",
    "model_unknown": "model_unknown",
    "model_unfit": "model_unfit",
    "rate_limited": "rate_limited",
    "credit_used_up": "rate_limited",
}


class Alerts:
    """Sends alerts.

    A notice goes into the outbox of its own conversation, so that it is kept, tried again, and put there once whatever
    the number of processes that have noticed.

    Before ``connect`` alerts go to the log alone: channels raise alerts too, so they are opened later.

    Args:
        language: of the notices.
        recipient: ``slack:C…`` or ``line:U…``; empty: the log alone.
    """

    def __init__(self, store: Store, texts: Texts, days: Days, language: str, recipient: str = "") -> None:
        self._store = store
        self._texts = texts
        self._days = days
        self._language = language
        self._platform, _, self._recipient = recipient.partition(":")
        self._channel: Channel | None = None
        self._sent: tuple[str, set[str]] = ("", set())

    def connect(self, channels: Mapping[str, Channel]) -> None:
        """From now on, send alerts through the operator's channel too, where it is one of these."""
        self._channel = channels.get(self._platform)

    async def notice(self, cause: Cause, detail: str = "", *, platform: str = "") -> None:
        """Send an alert, unless its cause had one today. Never raises.

        Args:
            detail: for the sentence of the catalogue, table ``alert``.
            platform: what the trouble is with; a notice that would have to go that way is for the log alone.
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
        conversation, address = self._channel.notice_target(self._recipient)
        try:
            await self._store.outbox.post(conversation, name, encode(Delivery(name, name, Reply(text), address)))
        except StoreUnavailable as error:
            self._sent[1].discard(name)
            log.warning("alert.not_sent", alert=cause, cause=str(error))
