"""Polls as people see them in LINE: the whole path, on a real store, with presses through the
signed webhook."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bot.channels import Reply
from bot.channels.line.channel import Line
from bot.channels.line.formatting import Formatter
from bot.channels.line.types import Chat
from bot.features.polls.poll import Poll
from bot.features.polls.store import StoredPolls
from bot.features.polls.tools import StartPoll
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, USER, event
from tests.fakes.line_rules import LABEL, units
from tests.waiting import until_true
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

FOOD: dict[str, Any] = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}
POLL = ("question", "options", "multiple")
KEPT_IN = f"line:polls:group:{GROUP}"
OTHER = f"U{'2' * 32}"
BELOW = "Press a button to vote, and the same one again to take your vote back."


@asynccontextmanager
async def open_poll(
    store: Store, fake: LineFake, pause_s: float = 0, **settings: Any
) -> AsyncIterator[LinePipeline]:
    """A poll in a group; ``times``: the model starts as many at once."""
    times = settings.pop("times", 1)
    arguments = FOOD | {name: settings.pop(name) for name in POLL if name in settings}
    calls = tuple(ToolCall(f"c{number}", "start_poll", arguments) for number in range(times))
    tools = ToolMap([ValidatedTool(StartPoll(), *read_schemas("start_poll"))])
    steps = [Step(calls=calls), Step("Please vote.")]
    async with open_pipeline(store, fake, steps, toolset=tools, **settings) as here:
        line = here.runner.services.channels["line"]
        assert isinstance(line, Line)
        line.abilities = replace(line.abilities, change_pause_s=pause_s)
        await here.converse(fake.mention("a poll, please"))
        yield here


@pytest.fixture
async def poll(store: Store, fake: LineFake) -> AsyncIterator[LinePipeline]:
    async with open_poll(store, fake) as here:
        yield here


async def test_a_poll_is_a_card_below_the_answer(poll: LinePipeline, fake: LineFake) -> None:
    """Both go by the one reply token; a press posts nothing in the person's name. What ends it
    stands out less than its options."""
    [sent] = fake.sent
    assert (sent.call, sent.to) == ("reply", GROUP)
    assert sent.texts == ["Please vote.", f"Where do we eat?\n1 Sushi\n2 Curry\nVotes: 0. {BELOW}"]
    assert list(sent.buttons) == ["1 Sushi", "2 Curry", "End the poll"]
    assert {frozenset(action) for action in sent.buttons.values()} == {
        frozenset({"type", "label", "data"})
    }
    assert sent.messages[1]["altText"] == "Where do we eat?"
    styles = [button["style"] for button in sent.messages[1]["contents"]["footer"]["contents"]]
    assert styles == ["secondary", "secondary", "link"]


async def test_an_answer_has_one_poll(store: Store, fake: LineFake) -> None:
    """A second card would need a push, or never be seen."""
    async with open_poll(store, fake, times=2, line_push="never"):
        [sent] = fake.sent
        assert [message["type"] for message in sent.messages] == ["text", "flex"]
    assert len(await StoredPolls(store).open_ids(KEPT_IN)) == 1


def test_the_button_of_a_long_answer_is_below_its_poll() -> None:
    """LINE shows the buttons of the last message alone."""
    formatter = Formatter(texts(), "en")
    poll = Poll("poll_1", "Where?", ("Sushi", "Curry"), (0, 0))
    *above, card = formatter.messages(
        Reply("word " * 5_000, card=poll.card(texts())), Chat("bot", "user", USER)
    )
    assert [message["type"] for message in above] == ["text"] * len(above)
    assert ["quickReply" in message for message in above] == [False] * len(above)
    assert (card["contents"]["type"], len(card["quickReply"]["items"])) == ("bubble", 1)


async def test_a_press_is_answered_by_its_own_token(poll: LinePipeline, fake: LineFake) -> None:
    """Counts without names; no turn, and nothing is pushed."""
    await poll.converse(fake.press("1 Sushi"))
    await poll.converse(fake.press("2 Curry", OTHER))
    assert [(sent.call, sent.texts) for sent in fake.sent[1:]] == [
        ("reply", [f"Where do we eat?\nSushi: 1\nCurry: 0\nVotes: 1. {BELOW}"]),
        ("reply", [f"Where do we eat?\nSushi: 1\nCurry: 1\nVotes: 2. {BELOW}"]),
    ]
    assert (len(poll.model.requests), fake.calls("push")) == (2, [])


@pytest.mark.long
async def test_a_group_that_votes_at_once_gets_few_messages(store: Store, fake: LineFake) -> None:
    """One at once, and one later that shows all votes."""
    pause_s = 0.5
    async with open_poll(store, fake, pause_s) as poll:
        begun = time.monotonic()
        for number in range(10):
            await poll.converse(fake.press("1 Sushi", f"U{number:032}"))
        pauses = int((time.monotonic() - begun) / pause_s)
        at_once = len(fake.sent)
        assert 2 <= at_once <= 2 + pauses

        async def all_shown() -> bool:
            await poll.runner.process(KEPT_IN)
            return "Sushi: 10\n" in fake.texts[-1][0]

        await until_true(all_shown)
        assert at_once < len(fake.sent) <= at_once + 1


async def test_a_vote_whose_token_is_dead_counts_and_is_not_pushed(
    poll: LinePipeline, fake: LineFake
) -> None:
    """A push would cost a message for each member."""
    press = fake.press("1 Sushi")
    fake.expire(press["replyToken"])
    await poll.converse(press)
    await poll.converse(fake.press("2 Curry", OTHER))
    assert fake.calls("push") == []
    assert "Sushi: 1\nCurry: 1\n" in fake.texts[-1][0]


async def test_votes_are_not_pushed_where_answers_always_are(store: Store, fake: LineFake) -> None:
    """Each push would cost a message for each member, at every press."""
    async with open_poll(store, fake, line_push="always") as poll:
        await poll.converse(fake.press("1 Sushi"))
        await poll.converse(fake.press("End the poll", OTHER))
        assert [sent.call for sent in fake.sent] == ["push", "reply", "reply"]


async def test_only_its_creator_closes_a_poll(poll: LinePipeline, fake: LineFake) -> None:
    """The result is shown; the buttons stay in the chat, and say that it is closed."""
    await poll.converse(fake.press("End the poll", OTHER))
    await poll.converse(fake.press("1 Sushi", OTHER))
    await poll.converse(fake.press("End the poll"))
    await poll.converse(fake.press("2 Curry", OTHER))
    assert [sent.texts for sent in fake.sent[1:]] == [
        ["Only the person who started this poll can end it."],
        [f"Where do we eat?\nSushi: 1\nCurry: 0\nVotes: 1. {BELOW}"],
        ["Where do we eat?\nSushi: 1\nCurry: 0\nThis poll is closed. People who voted: 1"],
        ["This poll is closed."],
    ]


async def test_a_poll_goes_when_the_bot_leaves(
    store: Store, poll: LinePipeline, fake: LineFake
) -> None:
    """Nothing is kept of it."""
    await poll.converse(fake.press("1 Sushi"))
    assert len(await StoredPolls(store).open_ids(KEPT_IN)) == 1
    await poll.converse(event("leave", GROUP, None))
    assert await StoredPolls(store).open_ids(KEPT_IN) == []


async def test_ten_long_options_in_japanese(store: Store, fake: LineFake) -> None:
    """Whole on the card, cut on the buttons; several may be chosen."""
    options = [f"候補の{'店' * 40}{number}" for number in range(1, 11)]
    async with open_poll(
        store, fake, question="どこで食べますか。", options=options, multiple=True
    ) as poll:
        buttons = list(fake.sent[0].buttons)
        assert (len(buttons), buttons[9][:3], buttons[10]) == (11, "10 ", "投票を締め切る")
        assert max(map(units, buttons)) == LABEL
        assert all(option in fake.texts[0][1] for option in options)
        await poll.converse(fake.press(buttons[9]))
        assert f"{options[9]}: 1" in fake.texts[1][0]
        assert "複数選べます" in fake.texts[1][0]


async def test_answers_to_others_do_not_wait_for_counts(
    store: Store, poll: LinePipeline, fake: LineFake
) -> None:
    """What shows votes has an outbox of its own."""
    await poll.receive(fake.press("1 Sushi"))
    assert poll.due == [KEPT_IN]
    assert await store.outbox.read(IN_GROUP) == []
    assert len(await store.outbox.read(KEPT_IN)) == 1


def test_a_label_is_never_cut_within_a_character() -> None:
    """Emoji take two units each."""
    poll = Poll("poll_1", "?", ("🍣" * 20, "a")).card(texts())
    formatter = Formatter(texts(), "en")
    [message] = formatter.messages(Reply("?", card=poll), Chat("bot", "user", USER))
    [button, *_] = message["contents"]["footer"]["contents"]
    assert button["action"]["label"] == f"1 {'🍣' * 8}…"
