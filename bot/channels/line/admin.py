"""What an operator asks LINE about the channel itself: for ``kaiwa doctor``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct

from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi
from bot.channels.line.quota import Quota


class Webhook(Struct, frozen=True):
    """Where LINE posts events; ``is_active`` is the console's switch “Use webhook”."""

    url: str
    is_active: bool


class WebhookTest(Struct, frozen=True):
    """What came of LINE's own test; ``status`` is what our side answered, 0 or less for nothing."""

    success: bool
    status: int
    reason: str
    detail: str


class BotInfo(Struct, frozen=True):
    """The official account; with ``is_chat_on`` a person answers in LINE's own manager, beside the bot."""

    user_id: str
    name: str
    basic_id: str
    is_chat_on: bool


class Admin:
    """Asks and sets. Every method raises ``Failure``, with status 401 where the access token is refused."""

    def __init__(self, api: LazyApi) -> None:
        self._api = api

    async def bot(self) -> BotInfo:
        """Which account the access token belongs to."""
        info = await (await self._api()).bot()
        return BotInfo(info.user_id, info.display_name, info.basic_id, info.chat_mode == "chat")

    async def webhook(self) -> Webhook | None:
        """The address that is set, if one is."""
        try:
            endpoint = await (await self._api()).webhook()
        except Failure as failure:
            if failure.status == 404:
                return None
            raise
        return Webhook(endpoint.endpoint, endpoint.active)

    async def set_webhook(self, url: str) -> None:
        """Set the address; LINE takes up to a minute to use it."""
        await (await self._api()).set_webhook(url)

    async def test_webhook(self, url: str = "") -> WebhookTest:
        """Let LINE post to the address that is set, or to another."""
        test = await (await self._api()).test_webhook(url)
        return WebhookTest(bool(test.success), test.status_code, test.reason, test.detail)

    async def quota(self) -> Quota:
        """The month's limit and use, from LINE and not from the cache."""
        api = await self._api()
        return Quota(await api.monthly_limit(), await api.monthly_use())


@asynccontextmanager
async def open_admin(access_token: str, base_url: str) -> AsyncIterator[Admin]:
    """Somebody to ask while the context is open."""
    api = LazyApi(access_token, base_url, base_url)
    try:
        yield Admin(api)
    finally:
        await api.aclose()
