"""Pressed buttons come in signed, and say who has decided what, and where."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels.slack.types import Address, write_address
from bot.transcript import Author, Message
from tests.bot.channels.slack.rig import THREAD, TS, Rig
from tests.bot.channels.slack.test_approval_messages import ID, deliver, question
from tests.bot.harness import decision_of, ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    CHANNEL,
    DIRECT,
    SECRET,
    TEAM,
    USER,
    as_interaction,
    press,
    signed,
)

APPROVE, REJECT = "approval.approve", "approval.reject"


async def asked(rig: Rig, **address: Any) -> dict[str, Any]:
    """The message that holds the question, as Slack has it."""
    await deliver(rig, question(**address))
    return rig.fake.messages[address.get("channel", CHANNEL)][-1]


@pytest.mark.parametrize(("action", "approved"), [(APPROVE, True), (REJECT, False)])
async def test_a_press_is_a_decision(
    fake: SlackFake, rig: Rig, action: str, *, approved: bool
) -> None:
    """In the conversation where the question was asked; the answer goes below it."""
    message = await asked(rig)
    url = f"{fake.origin}/actions/1"
    heard = await rig.receive(press(message, action, user="U7", response_url=url))
    assert heard
    conversation, arrival = heard
    address = Address(CHANNEL, message["ts"], TS, user="U7", team=TEAM, private_url=url)
    spoken = Message(
        f"{ID}:U7:{action}", "user", (), arrival.message.at, author=Author("U7", "hanako")
    )
    assert conversation == THREAD
    where = write_address(address)
    assert arrival == decision_of(spoken, ID, approved=approved, address=where, group=True)
    assert arrival.message.at > 1_800_000_000_000


async def test_pressing_again_decides_nothing_new(rig: Rig) -> None:
    """A double click is one decision; the other button, and another person, are others."""
    message = await asked(rig)
    presses = [
        press(message, APPROVE),
        press(message, APPROVE),
        press(message, REJECT),
        press(message, APPROVE, user="U7"),
    ]
    assert [await rig.send(one) for one in presses] == [200] * 4
    assert [arrival.message.id for _, arrival in rig.inbox.accepted] == [
        f"{ID}:{USER}:{APPROVE}",
        f"{ID}:{USER}:{REJECT}",
        f"{ID}:U7:{APPROVE}",
    ]


async def test_a_press_in_a_1_to_1_belongs_to_it(fake: SlackFake, rig: Rig) -> None:
    """Nobody reads along there, and the answer stands where the question does."""
    fake.add_message(DIRECT, TS, "A question")
    conversation = f"slack:{TEAM}:{DIRECT}"
    await rig.slack.deliver(conversation, question(channel=DIRECT, thread=""), ours)
    message = fake.messages[DIRECT][-1]
    heard = await rig.receive(press(message, REJECT, channel=DIRECT))
    assert heard
    assert (heard[0], heard[1].group) == (conversation, False)
    assert heard[1].address == write_address(Address(DIRECT, message["ts"], user=USER, team=TEAM))


async def test_without_the_store_no_modal_opens(fake: SlackFake, rig: Rig) -> None:
    """What was asked is not known."""
    await deliver(rig, question(dict.fromkeys("abcd", 1)))
    rig.kv.away = True
    with capture_logs() as logged:
        assert (
            await rig.send(press(fake.messages[CHANNEL][-1], "card.open", trigger=fake.trigger()))
            == 200
        )
        await rig.slack.tasks.join()
    assert ([line["event"] for line in logged], fake.modals) == (["slack.modal_not_opened"], {})


async def test_an_unsigned_press_decides_nothing(rig: Rig) -> None:
    """Whoever knows a question's id could press otherwise."""
    body = as_interaction(press(await asked(rig), APPROVE))
    assert (await rig.post(body, signed(body, secret=f"{SECRET}0"))).status_code == 401
    assert rig.inbox.accepted == []


async def test_a_press_that_cannot_be_kept_is_not_acknowledged(rig: Rig) -> None:
    """Slack shows that it did not work."""
    message = await asked(rig)
    rig.inbox.away = True
    assert await rig.send(press(message, APPROVE)) == 503


async def test_an_address_that_is_not_slacks_is_not_written_to(rig: Rig) -> None:
    """The rest of the press counts."""
    heard = await rig.receive(
        press(await asked(rig), APPROVE, response_url="https://evil.example/x")
    )
    assert heard
    assert "evil" not in heard[1].address


@pytest.mark.parametrize(
    "change",
    [
        {"action_id": "another"},
        {"value": "question 1"},
        {"value": None},
        {"block_id": "slack:T1"},
        {"block_id": "line:U1:user:U1"},
        {"block_id": f"{THREAD}:1"},
        {"block_id": f"{THREAD}\n"},
        {"action_id": 5},
    ],
)
async def test_a_press_of_another_form_is_acknowledged_and_left(
    rig: Rig, change: dict[str, Any]
) -> None:
    """Buttons of ours from another time, or of nobody's."""
    payload = press(await asked(rig), APPROVE)
    payload["actions"][0] |= change
    assert await rig.receive(payload) is None


@pytest.mark.parametrize(
    "change", [{"user": {}}, {"container": {"type": "view"}}, {"actions": []}, {"actions": [1]}]
)
async def test_a_payload_of_another_form_is_acknowledged_and_left(
    rig: Rig, change: dict[str, Any]
) -> None:
    """As are presses that stand in no message."""
    assert await rig.receive({**press(await asked(rig), APPROVE), **change}) is None
