"""What comes by itself is shown at the prompt, once; a number stands for a choice or an option of a
poll."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bot import texts
from bot.commands import SpokenCommands
from bot.live_events import (
    Answered,
    AnswerText,
    ApprovalAsked,
    LiveEvent,
    Noticed,
    PollShown,
    TurnStarted,
)
from bot.terminal.background import BackgroundLoop
from bot.transcript import encode
from tests.bot.terminal.harness import CALLED, HERE, STARTED, WORDS, ChatHarness
from tests.waiting import until

REMINDER = Answered("r1", "⏰ drink water")
POLL = PollShown("poll_1", "Lunch?", ("Sushi", "Curry"), (0, 0), "Press a button.", "Close")
COUNTED = PollShown("poll_1", "Lunch?", ("Sushi", "Curry"), (0, 1), "Press a button.", "Close")
CLOSED = PollShown("poll_1", "Lunch?", ("Sushi", "Curry"), (0, 1), "This poll is closed.")
SHOWN_POLL = f"Lunch?\n1 Sushi: 0\n2 Curry: 0\n{WORDS['vote']}\n"
SHOWN_COUNTS = f"Lunch?\n1 Sushi: 0\n2 Curry: 1\n{WORDS['vote']}\n"


class Desk:
    """Somebody at the prompt, to whom something comes before the next line is typed."""

    def __init__(self, harness: ChatHarness, loop: BackgroundLoop) -> None:
        self._harness = harness
        self._loop = loop

    def comes(self, *events: LiveEvent) -> None:
        """Publish events once the terminal follows, and wait until it has shown them."""

        async def publish() -> None:
            await until(lambda: self._harness.live.viewers > 0)
            await self._harness.live.publish(HERE, *map(encode, events))

        self._loop.start(publish()).result()

    def sees(self, text: str) -> None:
        """Wait until this can be read, in either stream."""

        async def wait() -> None:
            await until(lambda: text in "".join(self._harness.printed))

        asyncio.run(wait())


@pytest.fixture
def desk(harness: ChatHarness, loop: BackgroundLoop) -> Desk:
    return Desk(harness, loop)


def test_a_reminder_is_shown_while_nothing_is_typed(harness: ChatHarness, desk: Desk) -> None:
    """It answers nobody, and no line has to be typed first; neither does a notice of Kaiwa's."""

    def lines() -> Iterator[str]:
        desk.comes(REMINDER, Noticed("by the way"))
        desk.sees("drink water")
        desk.sees("by the way")
        yield "/exit"

    harness.chat.run(lines())
    assert harness.printed == ("⏰ drink water\n", "by the way\n")


def test_a_reminder_that_comes_before_an_answer_waits_for_the_prompt(harness: ChatHarness) -> None:
    """Somebody has just typed a line, and waits for its answer; both are shown once."""
    harness.scripts = [[REMINDER, STARTED, AnswerText("Hello"), Answered("t1", "Hello")]]
    harness.chat.run(["hi"])
    assert harness.printed == ("Hello\n⏰ drink water\n", "")


def test_an_answer_that_was_left_is_shown_when_it_comes(
    hasty: ChatHarness, loop: BackgroundLoop
) -> None:
    """Nobody has to press Enter for it, and later it is not shown again."""
    desk = Desk(hasty, loop)
    hasty.scripts = [[STARTED, CALLED]]

    def lines() -> Iterator[str]:
        yield "hi"
        hasty.commit()
        desk.comes(Answered("t1", "answer to hi"))
        desk.sees("answer to hi")
        yield ""

    hasty.chat.run(lines())
    assert hasty.printed == ("answer to hi\n", f"{WORDS['left']}\n{WORDS['earlier']}\n")


def test_an_answer_that_has_come_from_the_history_is_not_shown_again(hasty: ChatHarness) -> None:
    """Its live event waits behind another answer, before which the history was read."""
    first = hasty.commit, Answered("t1", "answer to one")
    hasty.scripts = [[STARTED, CALLED], [*first, STARTED, Answered("t2", "second")]]
    hasty.chat.run(["one", "two"])
    assert hasty.printed[0] == "answer to one\nsecond\n"


def test_a_question_that_comes_by_itself_is_announced(harness: ChatHarness, desk: Desk) -> None:
    """As by a routine: it is asked with the next line, so that nothing typed before decides it."""

    def lines() -> Iterator[str]:
        harness.ask()
        desk.comes(
            TurnStarted("r1", ("routine",)), ApprovalAsked("question_1", "c2", "launch", "", 0)
        )
        desk.sees(WORDS["question_waits"])
        harness.decide()
        yield "/exit"

    harness.chat.run(lines())


def test_what_comes_is_followed_again_after_an_outage(harness: ChatHarness, desk: Desk) -> None:
    """The store was away for a moment."""

    def lines() -> Iterator[str]:
        desk.comes(Noticed("one"))
        desk.sees("one")
        harness.break_off()
        desk.sees("one")
        yield ""
        desk.comes(REMINDER)
        desk.sees("drink water")
        yield "/exit"

    harness.chat.run(lines())


def test_a_number_stands_for_a_choice(harness: ChatHarness) -> None:
    """Its words are sent, and shown; a number that stands for nothing is a message, and so is one
    after an answer."""
    choices = "Sushi", "Curry"
    harness.scripts = [
        [STARTED, Answered("t1", "What?", choices=choices)],
        [STARTED, Answered("t2", "How many?")],
        [STARTED, Answered("t3", "Which?", choices=choices)],
        [STARTED, Answered("t4", "No.")],
    ]
    harness.chat.run(["hungry", "２", "2", "3"])
    assert [message.text for message in harness.said] == ["hungry", "Curry", "2", "3"]
    assert harness.printed[1] == "› Curry\n"


def test_a_number_votes_in_a_poll(harness: ChatHarness) -> None:
    """The counts are shown once; 0 closes the poll, and then a number is a message again."""
    harness.scripts = [
        [STARTED, POLL, Answered("t1", "Please vote.")],
        [COUNTED],
        [CLOSED],
        [STARTED, Answered("t2", "Two.")],
    ]
    harness.chat.run(["a poll", "2", "0", "2"])
    assert [message.text for message in harness.said] == ["a poll", "", "", "2"]
    assert [(vote.target, vote.choice) for vote in harness.votes] == [("poll_1", 2), ("poll_1", 0)]
    closed = "Lunch?\n1 Sushi: 0\n2 Curry: 1\nThis poll is closed.\n"
    assert harness.printed == ("Please vote.\nTwo.\n", f"{SHOWN_POLL}{SHOWN_COUNTS}{closed}")


def test_a_vote_that_does_not_arrive_can_be_made_again(harness: ChatHarness) -> None:
    """The store was away; what comes later of a vote is shown at the prompt."""
    harness.scripts = [[STARTED, POLL, Answered("t1", "Please vote.")], []]
    assert harness.chat.send("a poll")
    harness.away = True
    assert not harness.chat.run(["2"])
    harness.away = False
    assert harness.chat.run(["2"])
    assert len(harness.votes) == 1


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_help_lists_the_commands(language: str) -> None:
    """All that can be typed here; the interpreter is for groups."""
    catalogue = texts.load()
    shown = catalogue.get("terminal.help", language)
    here = [
        name
        for name in SpokenCommands(catalogue).names
        if name != "help" and not name.startswith("interpret")
    ]
    others = [
        name for name in here if catalogue.get(f"words.{name}", language).split(",")[0] not in shown
    ]
    assert others == ([] if language == "en" else ["stop"])  # /stop works in every language
