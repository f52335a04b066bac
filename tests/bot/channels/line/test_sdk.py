"""What LINE's SDK asks LINE: what the doctor checks and sets, and how failures are translated."""

from __future__ import annotations

import pytest
from aiohttp import web

from bot.channels.line.client import Failure
from bot.channels.line.sdk import Sdk
from tests.bot.channels.line.rig import line_config
from tests.fakes.line import LineFake, Trouble
from tests.fakes.serving import serving


async def test_failures_say_what_they_are(fake: LineFake) -> None:
    """A refused token has its status; a LINE that cannot be reached has none."""
    async with Sdk(line_config(fake.base_url, line_channel_access_token="another")) as sdk:
        with pytest.raises(Failure) as failure:
            await sdk.get_webhook()
        assert failure.value.status == 401
    async with Sdk(line_config("http://127.0.0.1:9")) as sdk:
        with pytest.raises(Failure) as failure:
            await sdk.get_bot()
        assert failure.value.status == 0
    async with Sdk(line_config(fake.base_url)):
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
    async with Sdk(line_config(fake.base_url), timeout_s=0.5) as sdk:
        with pytest.raises(Failure, match=words) as failure:
            await sdk.get_quota()
    assert failure.value.maybe_done


@pytest.mark.parametrize("raw", [b"null", b"[" * 100_000, b"{}", b""])
async def test_an_answer_in_another_form_is_a_failure(fake: LineFake, raw: bytes) -> None:
    """With a friendly status."""
    fake.fail("quota", 200, raw=raw)
    async with Sdk(line_config(fake.base_url)) as sdk:
        with pytest.raises(Failure, match="cannot be read"):
            await sdk.get_quota()


@pytest.mark.parametrize("raw", [b"", b"<html>\xff</html>"])
async def test_a_refusal_in_another_form_is_a_failure(fake: LineFake, raw: bytes) -> None:
    """As a proxy writes it."""
    fake.fail("quota", 502, raw=raw, retry_after="7")
    async with Sdk(line_config(fake.base_url)) as sdk:
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
        async with Sdk(line_config(url)) as sdk:
            with pytest.raises(Failure):
                await sdk.get_quota()
    assert asked == ["/v2/bot/message/quota"]
