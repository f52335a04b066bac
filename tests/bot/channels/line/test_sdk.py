"""What LINE's SDK asks LINE: what the doctor checks and sets, and how failures are translated."""

from __future__ import annotations

import pytest
from aiohttp import web

from bot.channels.line.client import Failure
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import BotInfo, Quota, WebhookEndpoint, WebhookTest
from tests.fakes.line import LineFake, Trouble
from tests.fakes.line_events import BOT, TOKEN
from tests.fakes.serving import serving


@pytest.mark.parametrize(("mode", "is_chat_on"), [("bot", False), ("chat", True)])
async def test_the_account_is_told(fake: LineFake, mode: str, is_chat_on: bool) -> None:
    """And whether a person answers beside the bot."""
    fake.chat_mode = mode
    async with Sdk(TOKEN, fake.base_url) as sdk:
        assert await sdk.get_bot() == BotInfo(BOT, "Kaiwa test", "@216test", is_chat_on)


async def test_the_webhook_is_told_and_set(fake: LineFake) -> None:
    """None at first; LINE takes https only."""
    async with Sdk(TOKEN, fake.base_url) as sdk:
        assert await sdk.get_webhook() is None
        with pytest.raises(Failure, match="400"):
            await sdk.set_webhook("http://a.example/webhooks/line")
        await sdk.set_webhook("https://a.example/webhooks/line")
        assert await sdk.get_webhook() == WebhookEndpoint(
            "https://a.example/webhooks/line", is_active=True
        )
        fake.webhook = {"endpoint": "https://a.example/webhooks/line", "active": False}
        assert await sdk.get_webhook() == WebhookEndpoint(
            "https://a.example/webhooks/line", is_active=False
        )


async def test_lines_own_test_is_run(fake: LineFake) -> None:
    """With what LINE saw of our side."""
    async with Sdk(TOKEN, fake.base_url) as sdk:
        assert await sdk.test_webhook() == WebhookTest(True, 200, "OK", "200")
        fake.webhook_test = {
            "success": False,
            "statusCode": 0,
            "reason": "COULD_NOT_CONNECT",
            "detail": "TLS",
        }
        assert await sdk.test_webhook() == WebhookTest(False, 0, "COULD_NOT_CONNECT", "TLS")


async def test_the_month_is_told(fake: LineFake) -> None:
    """From LINE itself."""
    fake.limit, fake.used = 200, 161
    async with Sdk(TOKEN, fake.base_url) as sdk:
        assert await sdk.get_quota() == Quota(200, 161)


async def test_failures_say_what_they_are(fake: LineFake) -> None:
    """A refused token has its status; a LINE that cannot be reached has none."""
    async with Sdk("another", fake.base_url) as sdk:
        with pytest.raises(Failure) as failure:
            await sdk.get_webhook()
        assert failure.value.status == 401
    async with Sdk(TOKEN, "http://127.0.0.1:9") as sdk:
        with pytest.raises(Failure) as failure:
            await sdk.get_bot()
        assert failure.value.status == 0
    async with Sdk(TOKEN, fake.base_url):
        assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("garbled", "cannot be read"),
        ("cut", "no answer from LINE"),
        ("stalled", "no answer from LINE"),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(
    fake: LineFake, trouble: Trouble, words: str
) -> None:
    """LINE may have done what was asked."""
    # aiohttp repeats a GET whose connection was cut, once.
    fake.trouble("quota", trouble, times=2)
    async with Sdk(TOKEN, fake.base_url, timeout_s=0.5) as sdk:
        with pytest.raises(Failure, match=words) as failure:
            await sdk.get_quota()
    assert failure.value.maybe_done


@pytest.mark.parametrize("raw", [b"null", b"[" * 100_000, b"{}", b""])
async def test_an_answer_in_another_form_is_a_failure(fake: LineFake, raw: bytes) -> None:
    """With a friendly status."""
    fake.fail("quota", 200, raw=raw)
    async with Sdk(TOKEN, fake.base_url) as sdk:
        with pytest.raises(Failure, match="cannot be read"):
            await sdk.get_quota()


@pytest.mark.parametrize("raw", [b"", b"<html>\xff</html>"])
async def test_a_refusal_in_another_form_is_a_failure(fake: LineFake, raw: bytes) -> None:
    """As a proxy writes it."""
    fake.fail("quota", 502, raw=raw, retry_after="7")
    async with Sdk(TOKEN, fake.base_url) as sdk:
        with pytest.raises(Failure) as failure:
            await sdk.get_quota()
    assert failure.value.maybe_done


async def test_no_redirect_is_followed() -> None:
    """The token goes to LINE alone."""
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    with serving(application) as url:
        async with Sdk(TOKEN, url) as sdk:
            with pytest.raises(Failure):
                await sdk.get_quota()
    assert asked == ["/v2/bot/message/quota"]
