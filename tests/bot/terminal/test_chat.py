"""The terminal's front: every message finds its answer, live or in the history, and nobody has to
wait for it."""

from __future__ import annotations

import pytest

from bot.errors import StoreUnavailable
from bot.live_events import Answered, AnswerText, LiveEvent, ShownFile, TurnStarted
from bot.terminal.background import BackgroundLoop
from bot.terminal.exchange import answer_to
from bot.terminal.plain_screen import PlainScreen
from bot.transcript import FileRef, Message, Text, ToolCall, ToolResult
from tests.bot.terminal.harness import CALLED, JOINED, STARTED, WORDS, ChatHarness, said
from toolset.shown import Card


def test_a_message_that_joins_a_turn_gets_its_answer(harness: ChatHarness) -> None:
    """What the turn did before it joined was shown to whoever asked first."""
    earlier: list[LiveEvent] = [TurnStarted("t1", ("another",)), AnswerText("Let me look.")]
    harness.scripts = [
        [*earlier, JOINED, AnswerText("Bo"), AnswerText("th"), Answered("t1", "Both")]
    ]
    assert harness.chat.run(["and Osaka?"])
    assert harness.printed == ("Both\n", "")


def test_a_message_gets_its_answer(harness: ChatHarness) -> None:
    """Said with the person's language and place, and shown as it came."""
    harness.scripts = [[STARTED, AnswerText("Hel"), AnswerText("lo"), Answered("t1", "Hello")]]
    assert harness.chat.run(["  hi there \n"])
    assert harness.printed == ("Hello\n", "")
    [message] = harness.said
    assert message.author is not None
    assert (message.text, message.author.locale, message.author.time_zone) == (
        "hi there",
        "en-GB",
        "Asia/Tokyo",
    )


def test_the_turns_of_others_are_not_shown(harness: ChatHarness) -> None:
    """Somebody may talk in the same conversation from another window."""
    others: list[LiveEvent] = [
        TurnStarted("t0", ("theirs",)),
        AnswerText("theirs"),
        Answered("t0", "theirs"),
    ]
    harness.scripts = [[*others, STARTED, Answered("t1", "ours")]]
    assert harness.chat.send("hi")
    assert harness.printed == ("ours\n", "")


def test_an_apology_is_no_answer(harness: ChatHarness) -> None:
    """It is shown with its note, and a pipe's exit code will tell; a later answer makes it good."""
    harness.scripts = [[STARTED, Answered("t1", "Too slow.", failed=True, note="cause")]]
    assert not harness.chat.run(["hi"])
    assert harness.printed == ("", "Too slow.\ncause\n")
    harness.scripts = [
        [STARTED, Answered("t1", "Sorry.", failed=True)],
        [STARTED, Answered("t2", "Yes.")],
    ]
    assert harness.chat.run(["one", "two"])


def test_an_answer_whose_live_events_are_lost_comes_from_the_history(harness: ChatHarness) -> None:
    """Live events are lossy; the history is the truth."""
    harness.scripts = [[harness.commit]]
    assert harness.chat.send("hi")
    assert harness.printed == ("answer to hi\n", "")


def test_a_broken_subscription_does_not_lose_the_answer(harness: ChatHarness) -> None:
    """What was shown stays, the rest is taken from the history."""
    harness.scripts = [[STARTED, AnswerText("answer"), harness.break_off, harness.commit]]
    assert harness.chat.send("hi")
    assert harness.printed == ("answer to hi\n", "")


def test_a_store_that_goes_away_meanwhile_ends_the_waiting(harness: ChatHarness) -> None:
    """The message is stored; its answer is shown once the store answers again."""
    harness.scripts = [[STARTED, harness.commit, harness.lose_the_store]]
    assert not harness.chat.send("hi")
    assert harness.printed[1] == f"{WORDS['store_away']}\nno answer within 2.5 s\n{WORDS['left']}\n"
    harness.chat.run([""])
    assert harness.printed[0] == ""
    harness.away = False
    harness.chat.run([""])
    assert harness.printed[0] == "answer to hi\n"


def test_a_message_that_was_not_kept_is_not_promised_an_answer(harness: ChatHarness) -> None:
    """Nothing was taken, so nothing is in the background."""
    harness.away = True
    assert not harness.chat.send("hi")
    assert harness.printed == ("", f"{WORDS['store_away']}\nno answer within 2.5 s\n")


def test_what_cannot_be_taken_is_told_in_one_sentence(harness: ChatHarness) -> None:
    """The console knows why; the next line is read as if nothing had been."""
    harness.scripts = [[STARTED, Answered("t1", "Yes.")]]
    assert harness.chat.run(["red \x1b[31m", "hi"])
    assert harness.printed == (
        "Yes.\n",
        "This message contains control characters. Please remove them.\n",
    )


def test_ctrl_c_leaves_the_waiting_and_the_answer_is_kept(hasty: ChatHarness) -> None:
    """Back at the prompt with a word about it; the answer is shown once it is there, and once
    only."""
    hasty.scripts = [[STARTED, CALLED]]
    assert not hasty.chat.send("hi")
    assert hasty.printed == ("", f"{WORDS['left']}\n")
    hasty.chat.run([""])
    assert hasty.printed == ("", f"{WORDS['left']}\n")
    hasty.commit()
    hasty.chat.run(["", ""])
    assert hasty.printed == ("answer to hi\n", f"{WORDS['left']}\n{WORDS['earlier']}\n")


def test_an_answer_nobody_waited_for_comes_before_the_next_one(hasty: ChatHarness) -> None:
    """Turns come in order, and so do their answers on the screen."""
    hasty.scripts = [[STARTED, CALLED], [hasty.commit, STARTED, Answered("t2", "second")]]
    hasty.chat.run(["one", "two"])
    assert hasty.printed == ("answer to one\nsecond\n", f"{WORDS['left']}\n{WORDS['earlier']}\n")


def test_messages_that_shared_a_turn_share_its_answer(hasty: ChatHarness) -> None:
    """Two that nobody waited for are answered at once: the answer is shown once."""
    hasty.scripts = [[STARTED, CALLED], [STARTED, CALLED]]
    hasty.chat.run(["one", "two"])
    hasty.history = [*hasty.said, said("model", "to both")]
    hasty.chat.run([""])
    assert hasty.printed[0] == "to both\n"


def test_commands_stay_here(harness: ChatHarness) -> None:
    """/help explains, /exit ends whatever follows; neither is said to anybody, and an empty line is
    nothing."""
    assert harness.chat.run(["/help", "", "  ", "/exit", "not reached"])
    assert harness.printed == ("", f"{WORDS['help']}\n")
    assert harness.said == []


def test_a_path_is_a_message(harness: ChatHarness) -> None:
    """Only what we know is a command."""
    harness.scripts = [[STARTED, Answered("t1", "A folder.")]]
    assert harness.chat.run(["/etc/hosts"])


class Remembering(PlainScreen):
    """A screen that puts what it recalls where it can be read."""

    def show_last_turn(self, question: str, answer: str) -> None:
        self.show_notice(f"{question} → {answer}")


def test_a_conversation_goes_on_with_its_last_exchange(loop: BackgroundLoop) -> None:
    """The last question and the last answer are shown, and all questions are there to be asked
    again."""
    harness = ChatHarness(loop, Remembering)
    call = ToolCall("c1", "look", {})
    harness.history = [
        said("user", "one"),
        said("model", "1"),
        said("user", "two"),
        said("model", "…", call),
    ]
    assert harness.chat.resume() == ["one", "two"]
    assert harness.printed == ("", "two → 1\n")


def test_a_new_conversation_recalls_nothing(loop: BackgroundLoop) -> None:
    """There is no last exchange."""
    harness = ChatHarness(loop, Remembering)
    assert harness.chat.resume() == []
    assert harness.printed == ("", "")


def test_a_store_that_is_away_at_the_start_is_an_error(harness: ChatHarness) -> None:
    """The command line tells it in one line."""
    harness.away = True
    with pytest.raises(StoreUnavailable):
        harness.chat.resume()


def test_the_answer_to_a_message_is_the_last_word_of_its_turn() -> None:
    """Words beside calls are not it, and neither are the answers before."""
    call = ToolCall("c1", "look", {})
    past = [
        said("user", "one", message_id="u1"),
        said("model", "1"),
        said("user", "two", message_id="u2"),
        said("model", "I look", call),
        said("tool"),
        said("model", "2"),
    ]
    found = [answer_to(message_id, past) for message_id in ("u1", "u2", "u3")]
    assert found == [Answered("", "1"), Answered("", "2"), None]
    assert answer_to("u2", past[:4]) is None


def test_an_answer_of_the_history_has_the_words_of_its_files_and_its_sources() -> None:
    """Those of its own turn, as if its live event had come."""
    chart, other = (
        FileRef(f"f{number}", f"{number}.png", "image/png", f"{number} °C") for number in (20, 9)
    )
    past = [
        said("user", "one", message_id="u1"),
        Message("t1", "tool", (ToolResult("c1", "w", {}, files=(other,)),), 0),
        said("model", "1"),
        said("user", "two", message_id="u2"),
        Message(
            "t2",
            "tool",
            (ToolResult("c2", "w", {}, files=(chart,), card=Card("A"), choices=("x", "y")),),
            0,
        ),
        said("user", "joined", message_id="u3"),
        Message("m2", "model", (Text("2"),), 0, footer="Sources:"),
    ]
    below = (ShownFile("", "20.png", "20 °C"),), (Card("A"),), ("x", "y")
    whole = Answered("", "2\n\nSources:", False, "", *below)
    assert [answer_to(message_id, past) for message_id in ("u2", "u3")] == [whole, whole]


def test_a_late_answer_is_shown_with_the_words_of_its_files(hasty: ChatHarness) -> None:
    """Nobody watched as it came."""
    chart = FileRef("f1", "a.png", "image/png", "20 °C")

    hasty.scripts = [[STARTED, CALLED]]
    hasty.chat.send("one")
    hasty.commit()
    hasty.history.insert(1, Message("t1", "tool", (ToolResult("c1", "w", {}, files=(chart,)),), 0))
    hasty.chat.run([""])
    assert hasty.printed[0] == "answer to one\n\n20 °C\n"
