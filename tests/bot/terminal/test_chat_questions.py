"""The terminal asks before a call that acts is made, and the next line is the answer; /stop ends a
turn."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from bot.live_events import Answered, AnswerText, Noticed, ToolFinished, TurnStarted
from tests.bot.terminal.harness import (
    ASKED,
    CALLED,
    LAUNCH,
    OPEN,
    SHOWN,
    STARTED,
    WORDS,
    ChatHarness,
    said,
)

RESUMED = TurnStarted("t1", ("the first message",))
LAUNCHED = ToolFinished("c2", "launch", {"ok": True}, False, 3)
MADE = '✓ launch · 3 ms\n  {"ok":true}\n'


def test_the_next_line_answers_a_question(harness: ChatHarness) -> None:
    """The turn that waited goes on, is followed to its end, and its answer is shown once."""
    harness.scripts = [
        [STARTED, harness.ask, ASKED],
        [harness.decide, RESUMED, LAUNCHED, AnswerText("Up"), Answered("t1", "Up")],
        [STARTED, Answered("t2", "Fine")],
    ]
    assert harness.chat.run(["launch it", "yes", "how are you?"])
    assert harness.printed == ("Up\nFine\n", f"{SHOWN}{MADE}")
    assert [message.text for message in harness.said] == ["launch it", "yes", "how are you?"]
    assert harness.forgotten == 1


def test_one_question_may_follow_another(harness: ChatHarness) -> None:
    """Each is asked and answered by itself."""
    another = replace(ASKED, question_id="question_2")

    def ask_another() -> None:
        harness.question = replace(LAUNCH, id="question_2")

    harness.scripts = [
        [STARTED, harness.ask, ASKED],
        [ask_another, RESUMED, LAUNCHED, another],
        [harness.decide, RESUMED, Answered("t1", "Both up")],
    ]
    assert harness.chat.run(["launch both", "yes", "yes"])
    assert harness.printed == ("Both up\n", f"{SHOWN}{MADE}{SHOWN}")


def test_a_question_nobody_answers_stays_open(harness: ChatHarness) -> None:
    """At the end of the input, a notice says until when the question stays open; the result is no
    answer."""
    harness.scripts = [[STARTED, harness.ask, ASKED]]
    assert not harness.chat.run(["launch it"])
    assert harness.printed == ("", f"{SHOWN}{OPEN}")


def test_a_question_of_an_earlier_run_is_asked_again(harness: ChatHarness) -> None:
    """The first line answers it, whatever run asked it."""
    harness.ask()
    harness.scripts = [[harness.decide, RESUMED, Answered("t1", "Up")]]
    assert harness.chat.run(["yes"])
    assert harness.printed == ("Up\n", SHOWN)


def test_a_question_whose_event_is_lost_comes_from_the_store(harness: ChatHarness) -> None:
    """And so does the end of the turn that it held up; the question that was answered is not asked
    again."""
    harness.scripts = [[STARTED, harness.ask], [harness.commit]]
    assert not harness.chat.send("launch it")
    assert harness.printed == ("", SHOWN)
    assert harness.chat.send("yes")
    assert harness.printed == ("answer to launch it\n", SHOWN)


def test_a_question_that_was_answered_is_not_asked_again(harness: ChatHarness) -> None:
    """The store holds it until a worker has read the answer, which may take a while."""
    harness.scripts = [[STARTED, harness.ask, ASKED], [harness.take_its_time]]
    assert harness.chat.run(["launch it", "yes"])
    assert harness.printed == ("answer to launch it\n", SHOWN)


def test_a_question_asked_meanwhile_comes_first(hasty: ChatHarness) -> None:
    """Whoever did not wait for the answer does not decide by a line typed before the question was
    read."""
    hasty.scripts = [[STARTED, CALLED], [hasty.decide, RESUMED, Answered("t1", "Up")]]
    hasty.chat.send("launch it")
    hasty.ask()
    hasty.chat.run(["", "yes"])
    assert hasty.printed == ("Up\n", f"{WORDS['left']}\n{SHOWN}")


def test_a_line_typed_before_the_question_is_not_sent(hasty: ChatHarness) -> None:
    """It is said so; what was typed ahead is thrown away too."""
    hasty.scripts = [[STARTED, CALLED]]
    hasty.chat.send("launch it")

    def lines() -> Iterator[str]:
        hasty.ask()
        yield "and Osaka?"

    assert not hasty.chat.run(lines())
    assert hasty.printed == ("", f"{WORDS['left']}\n{SHOWN}{WORDS['asked_first']}\n{OPEN}")
    assert [message.text for message in hasty.said] == ["launch it"]
    assert hasty.forgotten == 1


def test_an_answer_to_a_question_that_is_open_no_more_is_not_sent(harness: ChatHarness) -> None:
    """A yes without a question means nothing; what came of it is shown."""
    harness.scripts = [[STARTED, harness.ask, ASKED]]

    def lines() -> Iterator[str]:
        yield "launch it"
        harness.decide()
        harness.commit()
        yield "yes"

    harness.chat.run(lines())
    told = f"{SHOWN}{WORDS['earlier']}\n{WORDS['asked_over']}\n"
    assert harness.printed == ("answer to launch it\n", told)
    assert [message.text for message in harness.said] == ["launch it"]


def test_a_decision_while_the_store_is_away_is_not_lost_in_silence(harness: ChatHarness) -> None:
    """The question stays the next line's business."""
    harness.scripts = [
        [STARTED, harness.ask, ASKED],
        [harness.decide, RESUMED, Answered("t1", "Up")],
    ]
    assert not harness.chat.send("launch it")
    harness.away = True
    assert not harness.chat.run(["yes"])
    harness.away = False
    assert harness.chat.run(["yes"])
    told = f"{WORDS['store_away']}\nno answer within 2.5 s\n"
    assert harness.printed == ("Up\n", f"{SHOWN}{told}{OPEN}")


def test_stop_ends_the_turn_that_was_left(hasty: ChatHarness) -> None:
    """Only its end is shown: its words would begin in the middle; and nothing of it is shown
    again."""
    hasty.scripts = [
        [STARTED, CALLED],
        [AnswerText("the end of a sen"), hasty.commit, Answered("t1", "Stopped.")],
    ]
    hasty.chat.run(["tell me a story", "/stop", ""])
    assert hasty.printed == ("Stopped.\n", f"{WORDS['left']}\n")


def test_a_command_is_answered_without_a_turn(harness: ChatHarness) -> None:
    """Nothing else is under way, so what comes is its answer."""
    harness.scripts = [
        [Noticed("by the way"), Answered("t1", "There was nothing to stop.")],
        [Answered("t2", "Gone.")],
    ]
    assert harness.chat.run(["/stop", "/forget me"])
    assert harness.printed == ("There was nothing to stop.\nGone.\n", "by the way\n")


def test_an_answer_to_a_question_may_be_left_too(hasty: ChatHarness) -> None:
    """Ctrl-C while the approved call runs; the answer is shown once it is there."""
    hasty.scripts = [[STARTED, hasty.ask, ASKED], [hasty.decide, RESUMED, CALLED]]
    hasty.chat.run(["launch it", "yes"])
    hasty.history = [*hasty.said, said("model", "Up")]
    hasty.chat.run([""])
    assert hasty.printed == ("Up\n", f"{SHOWN}{WORDS['left']}\n{WORDS['earlier']}\n")
