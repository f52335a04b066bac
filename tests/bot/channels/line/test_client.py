"""What the doctor asks LINE, and what it can set."""

from __future__ import annotations

import pytest

from bot.channels.line.client import Client, Failure
from bot.channels.line.types import BotInfo, Quota, WebhookEndpoint, WebhookTest
from tests.fakes.line import LineFake
from tests.fakes.line_events import BOT, TOKEN


@pytest.mark.parametrize(("mode", "is_chat_on"), [("bot", False), ("chat", True)])
async def test_the_account_is_told(fake: LineFake, mode: str, is_chat_on: bool) -> None:
    """And whether a person answers beside the bot."""
    fake.chat_mode = mode
    async with Client(TOKEN, fake.base_url) as client:
        assert await client.get_bot() == BotInfo(BOT, "Kaiwa test", "@216test", is_chat_on)


async def test_the_webhook_is_told_and_set(fake: LineFake) -> None:
    """None at first; LINE takes https only."""
    async with Client(TOKEN, fake.base_url) as client:
        assert await client.get_webhook() is None
        with pytest.raises(Failure, match="400"):
            await client.set_webhook("http://a.example/webhooks/line")
        await client.set_webhook("https://a.example/webhooks/line")
        assert await client.get_webhook() == WebhookEndpoint(
            "https://a.example/webhooks/line", is_active=True
        )
        fake.webhook = {"endpoint": "https://a.example/webhooks/line", "active": False}
        assert await client.get_webhook() == WebhookEndpoint(
            "https://a.example/webhooks/line", is_active=False
        )


async def test_lines_own_test_is_run(fake: LineFake) -> None:
    """With what LINE saw of our side."""
    async with Client(TOKEN, fake.base_url) as client:
        assert await client.test_webhook() == WebhookTest(True, 200, "OK", "200")
        fake.webhook_test = {
            "success": False,
            "statusCode": 0,
            "reason": "COULD_NOT_CONNECT",
            "detail": "TLS",
        }
        assert await client.test_webhook() == WebhookTest(False, 0, "COULD_NOT_CONNECT", "TLS")


async def test_the_month_is_told(fake: LineFake) -> None:
    """From LINE itself."""
    fake.limit, fake.used = 200, 161
    async with Client(TOKEN, fake.base_url) as client:
        assert await client.get_quota() == Quota(200, 161)


async def test_failures_say_what_they_are(fake: LineFake) -> None:
    """A refused token has its status; a LINE that cannot be reached has none."""
    async with Client("another", fake.base_url) as client:
        with pytest.raises(Failure) as failure:
            await client.get_webhook()
        assert failure.value.status == 401
    async with Client(TOKEN, "http://127.0.0.1:9") as client:
        with pytest.raises(Failure) as failure:
            await client.get_bot()
        assert failure.value.status == 0
    async with Client(TOKEN, fake.base_url):
        assert len(fake.requests) == 1
