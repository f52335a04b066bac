"""Tool calls are cards of a streamed answer, where the workspace has them: title and state, and
nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from bot.channels import Delivery, Reply
from bot.channels.slack import streaming
from bot.channels.slack.config import Timing
from bot.channels.slack.live_answer import MOST_CARDS, TITLE
from bot.channels.slack.types import Address, write_address
from bot.live_events import AnswerText, ToolFinished, ToolStarted
from tests.bot.channels.slack.rig import QUICK, TS, Rig, begun_turn, open_rig
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, TEAM, USER
from tests.waiting import until

APPEND, UPDATE = "chat.appendStream", "chat.update"
SLOW: Timing = replace(QUICK, card_s=0.01)
LONG = "It is sunny in Tokyo, and it will stay so. " * 3
ADDRESS = write_address(Address(CHANNEL, TS, TS, language="ja", user=USER, team=TEAM))
ANSWER = Delivery("turn_1", "turn", Reply("**21 °C**"), ADDRESS, attempts=1)


def called(call_id: str = "c1", title: str = "天気", **arguments: Any) -> ToolStarted:
    """A call that runs."""
    return ToolStarted(call_id, "get_weather", arguments, title)


def finished(call_id: str = "c1", *, failed: bool = False, rejected: bool = False) -> ToolFinished:
    """Its end."""
    return ToolFinished(call_id, "get_weather", {"secret": "result"}, failed, 1, rejected)


def cards(fake: SlackFake) -> list[tuple[str, str]]:
    """Title and state of each card of the newest message."""
    message = fake.messages[CHANNEL][-1]
    return list(message.get("tasks", {}).values())


@pytest.fixture
async def rig(fake: SlackFake) -> AsyncIterator[Rig]:
    """A process in which each call is slow."""
    async with open_rig(fake, timing=SLOW) as rig:
        yield rig


async def deliver(rig: Rig, delivery: Delivery = ANSWER) -> None:
    await rig.slack.deliver("slack:x", delivery, ours)


async def test_a_slow_call_has_a_card_with_its_title_and_state(fake: SlackFake, rig: Rig) -> None:
    """In the person's language; nothing of arguments and results goes to Slack before the
    answer."""
    async with begun_turn(
        rig, called(location="a secret place"), called("c2", title="")
    ) as watcher:
        await until(
            lambda: cards(fake) == [("天気", "in_progress"), ("get_weather", "in_progress")]
        )
        await watcher.show(finished())
        await watcher.show(finished("c2", failed=True))
        await watcher.show(finished("unknown"))
        await until(lambda: cards(fake) == [("天気", "complete"), ("get_weather", "error")])
        await watcher.show(AnswerText("Sunny."))
        await until(lambda: fake.shown == ["Sunny."])
    await deliver(rig)
    assert fake.shown == ["[✓ 天気]\n[✗ get_weather]\n**21 °C**"]
    assert fake.posted == []
    assert "secret" not in str(fake.calls)


async def test_quick_calls_begin_no_stream(fake: SlackFake) -> None:
    """Their cards are shown if the answer is streamed for its length."""
    events = called(), finished(rejected=True), AnswerText(LONG)
    async with open_rig(fake) as rig, begun_turn(rig, *events):
        await until(lambda: fake.shown == [LONG])
        assert cards(fake) == [("天気", "error")]
        assert len(fake.called(APPEND)) == 1


async def test_a_call_ends_also_where_slack_is_away(fake: SlackFake, rig: Rig) -> None:
    """The message has the states of the end, not those of the last addition."""
    async with begun_turn(rig, called()) as watcher:
        await until(lambda: cards(fake) == [("天気", "in_progress")])
        fake.break_down(APPEND)
        await watcher.show(called("c2"))
        await until(lambda: len(fake.called(APPEND)) == 2)
        await watcher.show(finished())
        await watcher.show(finished("c2"))
    await deliver(rig)
    assert fake.shown == ["[✓ 天気]\n[✓ 天気]\n**21 °C**"]


async def test_cards_alone_are_taken_back_with_their_question(fake: SlackFake, rig: Rig) -> None:
    """The message that was asked about is gone."""
    async with begun_turn(rig, called()):
        await until(lambda: cards(fake) == [("天気", "in_progress")])
    await deliver(rig, changed(ANSWER, reply=Reply("", replaces="turn"), deletes=()))
    assert fake.shown == []


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("<!channel> now", "@channel now"),
        ("a\n  b", "a b"),
        (" ", "…"),
        ("😀" * 200, "😀" * (TITLE // 2 - 1) + "…"),
    ],
)
async def test_titles_are_plain_and_bounded(
    fake: SlackFake, rig: Rig, title: str, shown: str
) -> None:
    """A server of tools chooses them."""
    async with begun_turn(rig, called(title=title)):
        await until(lambda: cards(fake) == [(shown, "in_progress")])


async def test_an_answer_has_so_many_cards(fake: SlackFake, rig: Rig) -> None:
    """Further calls have none; an id that comes again is the same call."""
    async with begun_turn(rig) as watcher:
        for number in range(MOST_CARDS + 5):
            await watcher.show(called(f"c{number}"))
        await watcher.show(called("c0"))
        await until(lambda: len(cards(fake)) == MOST_CARDS)


@pytest.mark.parametrize(
    "error", ["invalid_chunks", "invalid_arguments", "streaming_mode_mismatch"]
)
async def test_a_workspace_without_chunks_streams_text(fake: SlackFake, error: str) -> None:
    """It is asked once; then no call begins a stream, and answers are streamed as text."""
    fake.no_chunks = error
    async with open_rig(fake, timing=SLOW) as rig:
        async with begun_turn(rig, called(), finished(), AnswerText(LONG)) as watcher:
            await until(lambda: fake.shown == [LONG])
            await watcher.show(called("c2"))
            await watcher.show(AnswerText("More."))
            await until(lambda: fake.shown == [f"{LONG}\n\nMore."])
        await deliver(rig)
        rig.kv.stored.clear()
        events = called(), finished(), AnswerText(LONG)
        async with begun_turn(rig, *events, turn="later"):
            await until(lambda: fake.shown[-1] == LONG)
    assert len([call for call in fake.called(APPEND) if "chunks" in call]) == 1


async def test_a_stream_with_cards_shows_so_much_text(fake: SlackFake, rig: Rig) -> None:
    """Slack could not end a larger one; cards still change, and the rest comes with the
    delivery."""
    words = "晴" * 2_600
    async with begun_turn(rig, called(), finished(), AnswerText(words)) as watcher:
        await until(lambda: fake.shown == [words])
        await watcher.show(AnswerText("晴" * 100))
        await watcher.show(called("c2"))
        await until(lambda: len(cards(fake)) == 2)
        await watcher.show(finished("c2"))
        await watcher.show(AnswerText("More."))
        await until(lambda: cards(fake)[1] == ("天気", "complete"))
        await watcher.show(AnswerText("More."))
    await deliver(rig)
    assert all("chunks" in call for call in fake.called(APPEND))
    assert fake.shown == ["[✓ 天気]\n[✓ 天気]\n**21 °C**"]


async def test_a_stream_without_cards_is_text(fake: SlackFake, rig: Rig) -> None:
    """As in workspaces without chunks; a later call has its card in the whole message."""
    async with begun_turn(rig, AnswerText(LONG)) as watcher:
        await until(lambda: fake.shown == [LONG])
        for event in (called(), finished(), AnswerText("Warm.")):
            await watcher.show(event)
        await until(lambda: fake.shown == [f"{LONG}\n\nWarm."])
    await deliver(rig)
    assert not any("chunks" in call for call in fake.called(APPEND))
    assert fake.shown == ["[✓ 天気]\n**21 °C**"]


async def test_a_refusal_within_a_stream_is_only_its_own(fake: SlackFake, rig: Rig) -> None:
    """Slack took chunks before: the rest comes with the delivery."""
    async with begun_turn(rig, called(), finished(), AnswerText(LONG)) as watcher:
        await until(lambda: fake.shown == [LONG])
        fake.fail(APPEND, "invalid_chunks")
        await watcher.show(AnswerText("More."))
        await until(lambda: len(fake.called(APPEND)) == 2)
    await deliver(rig)
    rig.kv.stored.clear()
    async with begun_turn(rig, called(), turn="later"):
        await until(lambda: cards(fake) == [("天気", "in_progress")])


@pytest.mark.long
async def test_cards_that_slack_takes_too_slowly_keep_their_newest_state(
    fake: SlackFake, rig: Rig
) -> None:
    """They are sent with the next addition."""
    fake.limit(APPEND, 1)
    async with begun_turn(rig, called()) as watcher:
        await until(lambda: len(fake.called(APPEND)) == 1)
        await watcher.show(finished())
        await until(lambda: cards(fake) == [("天気", "complete")])
    assert len(fake.called(APPEND)[-1]["chunks"]) == 1


async def test_messages_without_cards_where_the_workspace_does_not_know_the_block(
    fake: SlackFake, rig: Rig
) -> None:
    """The answer stands in the same message, once, and the next one does not try."""
    fake.no_blocks = {"task_card"}
    for turn in ("one", "two"):
        async with begun_turn(rig, called(), turn=turn):
            await until(lambda: cards(fake) == [("天気", "in_progress")])
        await deliver(rig, changed(ANSWER, id=f"{turn}_1", turn_id=turn))
    assert fake.shown == ["**21 °C**"] * 2
    assert (len(fake.called(UPDATE)), fake.posted) == (3, [])


@pytest.mark.parametrize("after", [False, True])
async def test_another_process_finishes_a_message_with_its_cards(
    fake: SlackFake, rig: Rig, other: Rig, after: bool
) -> None:
    """The first has died at the answer; one that has never claimed the message leaves none."""
    async with begun_turn(rig, called()):
        await until(lambda: cards(fake) == [("天気", "in_progress")])
    fake.hang_up(UPDATE, after=after)
    with pytest.raises(Exception, match=UPDATE):
        await deliver(rig)
    await deliver(other, changed(ANSWER, attempts=2))
    assert fake.shown == ["[✗ 天気]\n**21 °C**"]


async def test_a_process_that_has_not_written_the_stream_shows_the_answer_alone(
    fake: SlackFake, rig: Rig, other: Rig
) -> None:
    """The states of calls were known to the other one."""
    async with begun_turn(rig, called()):
        await until(lambda: cards(fake) == [("天気", "in_progress")])
    await deliver(other, ANSWER)
    assert fake.shown == ["**21 °C**"]


async def test_a_process_knows_the_cards_of_the_newest_of_its_streams(
    fake: SlackFake, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of an older one is shown alone."""
    monkeypatch.setattr(streaming, "WRITTEN", 1)
    for started, turn in ((1, "turn"), (2, "later")):
        async with begun_turn(rig, called(), turn=turn):
            # Awaited in this round.
            await until(lambda: len(fake.called(APPEND)) == started)  # noqa: B023
        await rig.slack.tasks.join()
    for turn in ("turn", "later"):
        await deliver(rig, changed(ANSWER, id=f"{turn}_1", turn_id=turn))
    assert fake.shown == ["**21 °C**", "[✗ 天気]\n**21 °C**"]
