"""In a 1:1 without threads an answer is posted with its first words and changed; it stays one
message, whoever dies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from bot.channels import Delivery, Question, Reply
from bot.channels.slack import streaming
from bot.channels.slack.client import Client
from bot.channels.slack.live_answer import Addition
from bot.channels.slack.streaming import Stream
from bot.channels.slack.task_cards import TaskCard
from bot.channels.slack.types import Address, write_address
from bot.channels.slack.writers import LONGEST_S, SLOWER, DraftWriter, Pause
from bot.errors import DeliverLater, LeaseLost
from bot.live_events import AnswerText, TurnStarted
from bot.transcript import encode
from tests.bot.channels.slack.rig import QUICK, TS, Rig, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import BOT_TOKEN, SlackFake
from tests.fakes.slack_events import DIRECT, TEAM, USER
from tests.waiting import until

POST, UPDATE, DELETE, LOOK = (
    "chat.postMessage",
    "chat.update",
    "chat.delete",
    "conversations.history",
)
WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
MARKED = f"{WORDS} …"
ANSWER = "**21 °C** and sunny."
NOTE = "slack:stream:turn"
ADDRESS = write_address(Address(DIRECT, TS, user=USER, team=TEAM))
FIRST = Delivery("turn_1", "turn", Reply(ANSWER), ADDRESS, attempts=1)
CONVERSATION = f"slack:{TEAM}:{DIRECT}"


@pytest.fixture(autouse=True)
def asked(fake: SlackFake) -> None:
    """Somebody has asked in the 1:1."""
    fake.add_message(DIRECT, TS, "A question")


async def write(
    rig: Rig, seen: Callable[[], bool], turn: str = "turn", address: str = ADDRESS
) -> None:
    """A turn that ends, or is broken off, once something of it is seen."""
    async with rig.slack.live_view(CONVERSATION, address) as watcher:
        await watcher.show(TurnStarted(turn, ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(seen)


async def deliver(rig: Rig, delivery: Delivery = FIRST) -> None:
    await rig.slack.deliver(CONVERSATION, delivery, ours)


@pytest.fixture
async def written(fake: SlackFake, rig: Rig) -> Rig:
    """A turn has shown its words and is over."""
    await write(rig, lambda: fake.shown == [MARKED])
    return rig


async def test_a_draft_grows_and_becomes_the_answer(fake: SlackFake, rig: Rig) -> None:
    """One message from its first words to its last; it was noted before it was posted, and calls
    nobody."""
    fake.meanwhile[POST] = lambda: kept.append(rig.kv.kept.get(NOTE, b""))
    kept: list[bytes] = []
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        await watcher.show(AnswerText(" <!channel> More."))
        await until(lambda: fake.shown == [f"{WORDS} @channel More. …"])
    await deliver(rig)
    message = fake.messages[DIRECT][-1]
    assert (fake.shown, len(fake.posted), fake.called("chat.stopStream")) == ([ANSWER], 1, [])
    assert kept == [encode(Stream(DIRECT, "", is_draft=True))]
    assert message["metadata"] == {
        "event_type": "kaiwa_delivery",
        "event_payload": {"id": "turn_1"},
    }
    assert "thread_ts" not in fake.posted[0]


async def test_the_delivery_is_repeated_in_the_same_message(
    fake: SlackFake, written: Rig, other: Rig
) -> None:
    """Whichever process does it: the first writes no more once it has claimed the message."""
    await deliver(written)
    await deliver(other, changed(FIRST, attempts=2))
    assert (fake.shown, len(fake.posted), fake.called(DELETE)) == ([ANSWER], 1, [])


@pytest.mark.parametrize("after", [False, True])
async def test_after_a_crash_at_the_answer_another_finishes_it(
    fake: SlackFake, written: Rig, other: Rig, after: bool
) -> None:
    """Whether or not Slack has carried it out."""
    fake.hang_up(UPDATE, after=after)
    with pytest.raises(DeliverLater, match=UPDATE):
        await deliver(written)
    await deliver(other, changed(FIRST, attempts=2))
    assert (fake.shown, len(fake.posted)) == ([ANSWER], 1)


async def test_a_draft_of_a_process_that_may_still_write_gives_way(
    fake: SlackFake, written: Rig, other: Rig
) -> None:
    """It was paused for longer than its lease: its next change must not meet the answer."""
    await deliver(other)
    assert (fake.shown, len(fake.called(DELETE)), written.kv.kept[NOTE]) == ([ANSWER], 1, b"")
    await deliver(written, changed(FIRST, attempts=2))
    assert fake.shown == [ANSWER]


async def test_whoever_was_paused_changes_nothing_afterwards(
    fake: SlackFake, rig: Rig, other: Rig
) -> None:
    """Its message is gone."""
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        await deliver(other)
        await watcher.show(AnswerText(" More."))
        await until(lambda: len(fake.called(UPDATE)) == 1)
    await rig.slack.tasks.join()
    assert fake.shown == [ANSWER]


@pytest.mark.parametrize("after", [False, True])
async def test_a_change_of_unknown_fate_does_not_meet_the_answer(
    fake: SlackFake, rig: Rig, after: bool
) -> None:
    """Slack may carry it out late, in the message that was deleted meanwhile."""
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        fake.hang_up(UPDATE, after=after)
        await watcher.show(AnswerText(" More."))
        await until(lambda: len(fake.called(UPDATE)) == 1)
    await deliver(rig)
    assert (fake.shown, len(fake.called(DELETE))) == ([ANSWER], 1)


async def test_one_that_has_lost_the_lease_takes_no_draft_away(
    fake: SlackFake, written: Rig, other: Rig
) -> None:
    """Another has made it the answer, perhaps."""

    async def lost() -> None:
        raise LeaseLost("x")

    with pytest.raises(LeaseLost):
        await other.slack.deliver(CONVERSATION, FIRST, lost)
    assert fake.shown == [MARKED]


@pytest.mark.parametrize("after", [False, True])
async def test_a_draft_of_unknown_fate_is_looked_for(
    fake: SlackFake, rig: Rig, other: Rig, after: bool
) -> None:
    """Found, it gives way; the answer is posted once, at whatever attempt."""
    fake.hang_up(POST, after=after)
    await write(rig, lambda: len(fake.called(POST)) == 1)
    await rig.slack.tasks.join()
    fake.hang_up(POST, after=True)
    with pytest.raises(DeliverLater):
        await deliver(other)
    await deliver(other, changed(FIRST, attempts=2))
    assert fake.shown == [ANSWER]


async def test_a_draft_posted_after_the_answer_is_taken_back(fake: SlackFake, rig: Rig) -> None:
    """The process stood still while another delivered."""
    fake.meanwhile[POST] = lambda: rig.kv.kept.update({NOTE: b""})
    await write(rig, lambda: len(fake.called(POST)) == 1)
    await rig.slack.tasks.join()
    assert fake.shown == []


async def test_a_draft_without_an_answer_is_taken_back(fake: SlackFake, rig: Rig) -> None:
    """Its question was deleted."""
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
    await deliver(rig, changed(FIRST, reply=Reply("", settles="turn", takes_back=())))
    assert (fake.shown, rig.kv.kept[NOTE], fake.called("chat.stopStream")) == ([], b"", [])


async def test_a_question_takes_the_place_of_a_draft(fake: SlackFake, written: Rig) -> None:
    """The answer belongs below it."""
    question = Question(
        "question_" + "0" * 32, "c1", "launch", {}, asker_id=USER, until=1_800_000_000_000
    )
    await deliver(written, changed(FIRST, reply=Reply("May I?", question=question)))
    assert len(fake.shown) == 1
    assert "[Approve] [Reject]" in fake.shown[0]


async def test_a_short_answer_is_posted_whole(fake: SlackFake, rig: Rig) -> None:
    """A draft would only make it later; and so is one whose words may be a call of everybody."""
    for turn, words in (("one", "Sunny."), ("two", "<!" + "x" * 90)):
        async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
            await watcher.show(TurnStarted(turn, ("m1",)))
            await watcher.show(AnswerText(words))
            await until(lambda: len(fake.called("assistant.threads.setStatus")) > 0)
        await rig.slack.tasks.join()
        assert fake.posted == []


@pytest.mark.parametrize(
    "where",
    [
        {"user": ""},
        {"ts": ""},
        {"channel": USER},
        {"response_url": "https://hooks.slack.com/commands/1"},
    ],
)
async def test_elsewhere_there_are_no_drafts(
    fake: SlackFake, rig: Rig, where: dict[str, Any]
) -> None:
    """What answers nobody, and what only one person sees, is posted whole."""
    address = write_address(
        Address(**{"channel": DIRECT, "ts": TS, "user": USER, "team": TEAM} | where)
    )
    async with rig.slack.live_view(CONVERSATION, address) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
    await rig.slack.tasks.join()
    assert fake.called(POST) == []


async def test_a_refusal_is_remembered(fake: SlackFake, rig: Rig) -> None:
    """That channel is asked once; the answer is posted whole."""
    fake.fail(POST, "restricted_action")
    await write(rig, lambda: len(fake.called(POST)) == 1)
    await rig.slack.tasks.join()
    rig.kv.kept.clear()
    await write(rig, lambda: True, "later")
    await deliver(rig)
    assert (fake.shown, len(fake.called(POST))) == ([ANSWER], 2)


async def test_a_draft_that_cannot_be_changed_is_left_to_the_delivery(
    fake: SlackFake, rig: Rig
) -> None:
    """What it lacks comes with it."""
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        fake.fail(UPDATE, "edit_window_closed")
        await watcher.show(AnswerText("More."))
        await until(lambda: len(fake.called(UPDATE)) == 1)
        await watcher.show(AnswerText("And more."))
    await rig.slack.tasks.join()
    assert len(fake.called(UPDATE)) == 1
    fake.fail(UPDATE, "edit_window_closed")
    await deliver(rig)
    assert (fake.shown, len(fake.called(DELETE))) == ([ANSWER], 1)


async def test_drafts_leave_changes_for_deliveries(fake: SlackFake) -> None:
    """Of all drafts one is changed at a time, and each at longer and longer intervals."""
    async with (
        open_rig(fake, timing=replace(QUICK, change_s=60.0)) as rig,
        rig.slack.live_view(CONVERSATION, ADDRESS) as watcher,
    ):
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        await watcher.show(AnswerText(" More."))
        await until(lambda: fake.shown == [f"{WORDS} More. …"])
        await watcher.show(AnswerText(" And more."))
    assert len(fake.called(UPDATE)) == 1
    assert (SLOWER > 1, LONGEST_S) == (True, 20.0)


@pytest.mark.long
async def test_too_many_changes_wait(fake: SlackFake, rig: Rig) -> None:
    """The words come with the next one."""
    async with rig.slack.live_view(CONVERSATION, ADDRESS) as watcher:
        await watcher.show(TurnStarted("turn", ("m1",)))
        await watcher.show(AnswerText(WORDS))
        await until(lambda: fake.shown == [MARKED])
        fake.limit(UPDATE, 1)
        await watcher.show(AnswerText(" More."))
        await until(lambda: len(fake.called(UPDATE)) == 1)
        await watcher.show(AnswerText(" And more."))
        await until(lambda: fake.shown == [f"{WORDS} More. And more. …"])


async def test_a_process_knows_the_newest_of_its_messages(
    fake: SlackFake, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that it has forgotten is as another's."""
    monkeypatch.setattr(streaming, "WRITTEN", 1)
    for number, turn in enumerate(("turn", "later")):
        # awaited in this round
        await write(rig, lambda: len(fake.posted) > number, turn)  # noqa: B023
        await rig.slack.tasks.join()
    await deliver(rig)
    assert (len(fake.called(DELETE)), fake.shown) == (1, [MARKED, ANSWER])


async def test_one_draft_waits_for_another(fake: SlackFake) -> None:
    """What it says then holds all that has come meanwhile; cards are no reason to change a
    message."""
    busy = Pause()
    async with Client(BOT_TOKEN, fake.api_base_url) as client:
        where = Address(DIRECT, TS, user=USER, team=TEAM)
        one, other = (
            DraftWriter(client, where, turn, busy, replace(QUICK, change_s=60.0))
            for turn in ("1", "2")
        )
        first, second = [str((await writer.start("Words")).data["ts"]) for writer in (one, other)]
        assert (await one.add(first, Addition(" and more"))).ok
        waits = await other.add(second, Addition(" and more"))
        assert 0 < waits.retry_after <= 60
        assert (await other.add(second, Addition(cards=(TaskCard("1", "Weather"),)))).ok
    assert fake.shown == ["Words and more …", "Words …"]
