"""Calls that are not in every turn go through Slack's SDK; whatever comes back is an answer or an
outage."""

from __future__ import annotations

import pytest

from bot.channels.slack.client import WAIT_S, Client
from bot.errors import DeliverLater
from tests.fakes.slack import BOT_TOKEN, SlackFake
from toolset.web.decoding import MOST_BYTES

ASK = "auth.test"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"ok": tr', "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
        ("[" * 100_000, "application/json"),
        ("bad gateway", "text/plain"),
        ("<html>", "text/html"),
        ("{}", "application/gzip"),
    ],
)
async def test_what_is_no_answer_of_slacks_is_an_outage(
    fake: SlackFake, body: str, content_type: str
) -> None:
    """Cut off on the way, or words of a proxy's."""
    fake.garble(ASK, body, content_type)
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=ASK):
            await client.post(ASK)


async def test_refusals_say_what_they_are(fake: SlackFake) -> None:
    """An error has its name, too many calls the seconds to wait."""
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        fake.fail(ASK, "token_revoked")
        assert (await client.post(ASK)).error == "token_revoked"
        fake.limit(ASK, 7)
        assert (await client.post(ASK)).retry_after == 7
        fake.fail(ASK, "ratelimited")
        assert (await client.post(ASK)).retry_after == WAIT_S


async def test_an_answer_names_the_tokens_scopes(fake: SlackFake) -> None:
    """They are in a header."""
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        answer = await client.post(ASK)
    assert (answer.ok, answer.scopes.split(",")[0]) == (True, fake.scopes[0])


async def test_a_call_whose_line_is_cut_is_an_outage(fake: SlackFake) -> None:
    """Slack may have done what was asked."""
    fake.hang_up(ASK, after=True)
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=ASK):
            await client.post(ASK)


async def test_an_answer_without_end_is_an_outage(fake: SlackFake) -> None:
    """Only its beginning is read."""
    fake.garble(ASK, '{"ok": true}'.rjust(MOST_BYTES + 20), "application/json")
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        with pytest.raises(DeliverLater, match=ASK):
            await client.post(ASK)


async def test_half_a_character_is_replaced(fake: SlackFake) -> None:
    """Nothing could store or send it."""
    fake.garble(ASK, r'{"ok": true, "user": "Hana\ud83d"}', "application/json")
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        assert (await client.post(ASK)).data["user"] == "Hana\N{REPLACEMENT CHARACTER}"
