"""What the operator is told without asking: each cause once a day, by message and in the log."""

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
    """Tells the operator.

    A notice goes into the outbox of its own conversation, so that it is kept, tried again, and put there once whatever
    the number of processes that have noticed.

    Args:
        channels: by name; may be filled later.
        language: of the notices.
        recipient: ``slack:C…`` or ``line:U…``; empty: the log alone is told.
    """

    def __init__(
        self,
        store: Store,
        channels: Mapping[str, Channel],
        texts: Texts,
        days: Days,
        language: str,
        recipient: str = "",
    ) -> None:
        self._store = store
        self._channels = channels
        self._texts = texts
        self._days = days
        self._language = language
        self._platform, _, self._recipient = recipient.partition(":")
        self._told: tuple[str, set[str]] = ("", set())

    async def notice(self, cause: Cause, detail: str = "", *, platform: str = "") -> None:
        """Tell about a cause, unless that was done today. Never raises.

        Args:
            detail: for the sentence of the catalogue, table ``alert``.
            platform: what the trouble is with; a notice that would have to go that way is for the log alone.
        """
        day = self._days.today
        if self._told[0] != day:
            self._told = (day, set())
        name = f"notice_{day}_{cause}{f'_{platform}' if platform else ''}"
        if name in self._told[1]:
            return
        self._told[1].add(name)
        text = self._texts.get(f"alert.{cause}", self._language, platform=platform, detail=detail)
        log.error("alert.raised", cause=cause, notice=text)
        channel = self._channels.get(self._platform)
        if channel is None or self._platform == platform:
            return
        conversation, address = channel.notice_target(self._recipient)
        try:
            await self._store.outbox.post(conversation, name, encode(Delivery(name, name, Reply(text), address)))
        except StoreUnavailable as error:
            self._told[1].discard(name)
            log.warning("alert.not_sent", alert=cause, cause=str(error))
