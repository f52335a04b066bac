"""Choices in Slack: buttons below an answer, whose press is the asker's message, once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bot.channels import InboundEvent, Reply, say_buttons
from bot.channels.slack.types import Address, write_address
from bot.live_events import SAY
from bot.transcript import Author, Message, Text
from tests.bot.channels.slack.rig import RATING, THREAD, TS, Rig, delivery, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_blocks import read
from tests.fakes.slack_events import CHANNEL, DIRECT, TEAM, USER, press
from tests.waiting import until

ASKED = Reply("Which day?", buttons=say_buttons(("Today", "Tomorrow")))
FIRST, SECOND = "message.say#1", "message.say#2"
UPDATE = "chat.update"


async def offer(
    rig: Rig, reply: Reply = ASKED, asker: str = USER, **address: Any
) -> dict[str, Any]:
    """The message with the choices, as Slack has it."""
    await rig.slack.deliver(THREAD, replace(delivery(**address), reply=reply, asker=asker), ours)
    return rig.fake.messages[address.get("channel", CHANNEL)][-1]


def words(blocks: list[dict[str, Any]]) -> list[str]:
    """What people see."""
    return [read(block) for block in blocks]


async def test_a_press_is_the_askers_message(fake: SlackFake, rig: Rig) -> None:
    """In the same conversation; in place of the buttons stands who chose what."""
    message = await offer(rig)
    assert words(message["blocks"]) == ["Which day?", "[Today] [Tomorrow]"]
    heard = await rig.receive(press(message, SECOND))
    spoken = ("Tomorrow", f"choice:{CHANNEL}:{message['ts']}", Author(USER, "hanako"))
    assert heard
    conversation, arrival = heard
    address = Address(CHANNEL, message["ts"], TS, user=USER, team=TEAM)
    expected = Message(spoken[1], "user", (Text(spoken[0]),), arrival.message.at, author=spoken[2])
    assert conversation == THREAD
    assert arrival == InboundEvent(expected, write_address(address), group=True, action=SAY)
    await until(lambda: bool(fake.called(UPDATE)))
    await until(lambda: words(message["blocks"]) == ["Which day?", f"@{USER}: Tomorrow"])


async def test_what_was_chosen_stands_where_the_buttons_were(rig: Rig) -> None:
    """Above those for feedback."""
    message = await offer(rig, replace(ASKED, buttons=(*ASKED.buttons, *RATING)))
    *above, feedback = message["blocks"]
    assert words(above) == ["Which day?", "[Today] [Tomorrow]"]
    await rig.send(press(message, SECOND))
    await rig.slack.tasks.join()
    assert words(message["blocks"][:2]) == ["Which day?", f"@{USER}: Tomorrow"]
    assert message["blocks"][2:] == [feedback]


async def test_an_answer_has_one_choice(rig: Rig) -> None:
    """A second press, of whichever button, is the same message; it is not taken again, and not
    shown."""
    message = await offer(rig)
    presses = [press(message, FIRST), press(message, FIRST), press(message, SECOND)]
    assert [await rig.send(one) for one in presses] == [200] * 3
    await rig.slack.tasks.join()
    assert rig.inbox.words == ["Today"]
    assert words(message["blocks"]) == ["Which day?", f"@{USER}: Today"]


async def test_only_the_asker_chooses(fake: SlackFake, rig: Rig) -> None:
    """Others' presses, and buttons that somebody else has made, do nothing."""
    message = await offer(rig)
    mine = press(message, FIRST)
    [action] = mine["actions"]
    forged = [
        {"value": "Today"},
        {"value": f"{USER}:{'x' * 50}"},
        {"block_id": "elsewhere"},
        {"action_id": "other"},
    ]
    for one in (
        press(message, FIRST, user="U7"),
        *(mine | {"actions": [action | change]} for change in forged),
    ):
        assert await rig.send(one) == 200
    assert (rig.inbox.words, fake.called(UPDATE)) == ([], [])


@pytest.mark.parametrize("settings", [{"allowed_users": ("U7",)}, {"allowed_channels": ("C7",)}])
async def test_who_may_not_use_the_bot_chooses_nothing(
    fake: SlackFake, settings: dict[str, Any]
) -> None:
    """An allow-list may have changed since the answer."""
    async with open_rig(fake, **settings) as rig:
        message = await offer(rig)
        assert await rig.receive(press(message, FIRST)) is None


async def test_where_one_person_alone_reads_the_choices_are_words(
    fake: SlackFake, rig: Rig
) -> None:
    """The answer to a press would be seen by all; so it is for an asker who is not known."""
    await offer(rig, response_url=f"{fake.origin}/commands/1")
    [shown] = fake.responses["/commands/1"]
    assert words(shown["blocks"]) == ["Which day?", "・Today\n・Tomorrow"]
    assert words((await offer(rig, asker=""))["blocks"]) == ["Which day?", "・Today\n・Tomorrow"]


@pytest.mark.parametrize("trouble", ["refused", "away", "no message"])
async def test_buttons_that_stay_do_no_harm(fake: SlackFake, rig: Rig, trouble: str) -> None:
    """The press counts, whatever becomes of the message."""
    pressed = press(await offer(rig, channel=DIRECT, thread=""), FIRST, channel=DIRECT)
    if trouble == "refused":
        fake.fail(UPDATE, "cant_update_message")
    elif trouble == "away":
        fake.break_down(UPDATE)
    else:
        del pressed["message"]
    with capture_logs() as logs:
        assert await rig.send(pressed) == 200
        await rig.slack.tasks.join()
    assert rig.inbox.words == ["Today"]
    left = [entry for entry in logs if entry["event"] == "slack.buttons_left"]
    assert len(left) == (trouble != "no message")
