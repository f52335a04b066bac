"""Who the bot is in Slack, learnt in the background: nothing at the door waits for it."""

from __future__ import annotations

import asyncio

import structlog

from bot.channels.slack.api import Api
from bot.channels.slack.options import Timing
from bot.errors import DeliverLater

log = structlog.stdlib.get_logger(__name__)


class Identity:
    """The bot's ids; empty until Slack has told them."""

    def __init__(self, api: Api, timing: Timing) -> None:
        self._api = api
        self._timing = timing
        self.user = ""
        self.bot = ""

    @property
    def users(self) -> frozenset[str]:
        """The user ids that are the bot's own."""
        return frozenset({self.user} - {""})

    def is_ours(self, user: str | None, bot: str | None) -> bool:
        """Whether a message is the bot's own, as far as is known."""
        return bool((user and user == self.user) or (bot and bot == self.bot))

    async def learn(self) -> None:
        """Ask until Slack has answered; a refused token may be replaced in its settings meanwhile."""
        while True:
            try:
                answer = await self._api.post("auth.test")
            except DeliverLater as later:
                log.warning("slack.identity_unknown", cause=str(later))
                await asyncio.sleep(self._timing.again_s)
                continue
            if not answer.ok:
                log.error("slack.token_refused", cause=answer.error)
                await asyncio.sleep(answer.retry_after or self._timing.refused_s)
                continue
            self.user = str(answer.data.get("user_id", ""))
            self.bot = str(answer.data.get("bot_id", ""))
            return
