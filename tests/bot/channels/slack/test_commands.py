"""``/kaiwa`` and what was typed behind it."""

from __future__ import annotations

import pytest

from bot.channels.slack.types import Address, read_address
from bot.store import Store
from bot.transcript import Author
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, Rig, open_rig
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER, command, home_opened, mention

IN_DIRECT = f"slack:{TEAM}:{DIRECT}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "/help"),
        ("help", "help"),
        ("stop", "stop"),
        ("usage", "usage"),
        ("forget me", "forget me"),
        ("12 &lt; 3?", "12 < 3?"),
        ("weather Tokyo", "/weather Tokyo"),
        ("Weather", "/Weather"),
        ("天気 東京", "/天気 東京"),
        ("weathered wood?", "weathered wood?"),
    ],
)
async def test_a_command_is_words_for_the_senders_eyes(
    fake: SlackFake, rig: Rig, text: str, words: str
) -> None:
    """In a conversation of their own, so that nobody else's thread is touched by it."""
    url = f"{fake.origin}/commands/1"
    heard = await rig.receive(command(text, response_url=url))
    assert heard
    conversation, arrival = heard
    assert (conversation, arrival.message.text, arrival.group) == (
        f"slack:{TEAM}:{USER}",
        words,
        False,
    )
    assert arrival.message.author == Author(USER)
    assert read_address(arrival.address) == Address(
        USER, response_url=url, language="ja" if "天" in words else "en"
    )


async def test_a_command_in_a_1_to_1_belongs_to_it(rig: Rig) -> None:
    """`/kaiwa reset` there forgets what was said there; a response URL that is not Slack's is not
    used."""
    await rig.send(home_opened(tab="messages"))
    heard = await rig.receive(
        command("reset", channel=DIRECT, response_url="https://evil.example/x")
    )
    assert heard
    assert (heard[0], read_address(heard[1].address)) == (IN_DIRECT, Address(DIRECT, language="en"))


async def test_a_command_of_somebody_not_allowed_is_told_so(fake: SlackFake) -> None:
    """Slack shows a command that gets no answer as broken."""
    async with open_rig(fake, allowed_users=("U0009",)) as rig:
        heard = await rig.receive(command("help"))
        assert heard
        assert (heard[1].event, heard[1].target) == ("canned", "slack.not_allowed")


async def test_a_command_without_its_parts_is_acknowledged(rig: Rig) -> None:
    """There is nobody to answer."""
    assert await rig.receive({"command": "/kaiwa", "text": "help"}) is None


async def test_the_reminders_of_somebody_in_a_channel_are_for_their_eyes(
    store: Store, fake: SlackFake
) -> None:
    """The thread neither shows nor keeps them."""
    async with SlackPipeline(store, fake) as here:
        await here.send(mention("/reminders", TS))
    [listed] = fake.whispered
    assert (listed["user"], listed["thread_ts"], fake.posted) == (USER, TS, [])
    assert await store.history.read(f"slack:{TEAM}:{CHANNEL}:{TS}", 10) == []
