"""Notices to the operator: one a day for each cause."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from bot.channels import Channel, Delivery, Reply
from bot.clock import Days
from bot.errors import StoreUnavailable
from bot.store import Store
from bot.texts import Texts
from bot.transcript import encode

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
# Causes whose alert says how often they came since the last one.
COUNTED = frozenset({*ALARMING.values(), "dead_letters"})
COUNTED_S = 7 * 86_400  # after the last time


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
        self._sent: tuple[str, dict[str, bool]] = ("", {})  # of a day: by name, whether it went out

    def connect(self, channels: Mapping[str, Channel]) -> None:
        """Send alerts through the operator's channel from now on, if it is one of these."""
        self._channel = channels.get(self._platform)

    async def notice_failure(self, apology: str, cause: str) -> None:
        """Send an alert of the failure behind an apology, if only the operator can fix it. Never
        raises."""
        if apology in ALARMING:
            await self.notice(ALARMING[apology], cause)

    async def notice(
        self, cause: str, detail: str = "", *, platform: str = "", about: str = ""
    ) -> None:
        """Send an alert, unless its cause had one today. Never raises.

        Args:
            cause: a key of the catalogue's table ``alert``.
            detail: for its sentence.
            platform: the channel that fails; a notice that would go through it is only logged.
            about: of several things with this cause, each of which has its own notice.
        """
        day = self._days.today
        if self._sent[0] != day:
            self._sent = (day, {})
        if cause in COUNTED:
            self._store.kv.add_later(_counter(cause), 1, COUNTED_S)
        name = "_".join(filter(None, ("notice", day, cause, platform, about)))
        sent = self._sent[1]
        if sent.get(name):
            return
        is_news, sent[name] = name not in sent, True
        count = await self._count(cause)
        text = self._texts.get(
            f"alert.{cause}", self._language, platform=platform, detail=detail, count=count
        )
        if "@" in platform and platform not in text:
            text = f"{platform}: {text}"
        if is_news:  # a store that is away keeps it back, however often it is raised
            log.error("alert.raised", cause=cause, notice=text)
        try:
            if await self.post(name, text, platform) and count:
                self._store.kv.add_later(_counter(cause), -count, COUNTED_S)
        except StoreUnavailable as error:
            sent[name] = False
            if is_news:
                log.warning("alert.not_sent", alert=cause, cause=str(error))

    async def _count(self, cause: str) -> int:
        """How often a counted cause came since its last alert, this time included."""
        if cause not in COUNTED:
            return 0
        try:
            return int(await self._store.kv.get(_counter(cause)) or 1)
        except StoreUnavailable:
            return 1

    async def post(self, name: str, text: str, platform: str = "") -> bool:
        """Put a text for the operator into the outbox; false if another process has. One that is
        only logged is none of another process."""
        if self._channel is None or self._platform == platform:
            return True
        # Nobody writes in this conversation, so a notice waits for no turn.
        conversation = f"{self._platform}:notices:{self._recipient}"
        delivery = Delivery(name, name, Reply(text))
        return await self._store.outbox.post(conversation, name, encode(delivery))


def _counter(cause: str) -> str:
    return f"alert:{cause}"
