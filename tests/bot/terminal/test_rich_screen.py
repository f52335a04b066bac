"""An answer on a terminal: it grows, nothing is seen twice, and what stays is what a person should
read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast

import pytest
from rich.console import Console

from bot import texts
from bot.live_events import (
    Answered,
    AnswerRestarted,
    AnswerText,
    ApprovalAsked,
    LiveEvent,
    Noticed,
    PollShown,
    ShownFile,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from bot.safe_text.arguments import BULLET, render_arguments
from bot.terminal import clock_time
from bot.terminal.rich_screen import RichScreen
from tests.bot.safe_text.corpus import ATTACKS
from tests.fakes.terminal import TerminalFake

WORDS = texts.load().table("terminal", "en")
LONG = "\n".join(f"- item {number}" for number in range(30))


class Display:
    """A terminal and the screen that draws on it."""

    def __init__(self, width: int = 60, height: int = 12) -> None:
        self.terminal = TerminalFake(width, height)
        console = Console(
            file=cast(IO[str], self.terminal),
            width=width,
            height=height,
            force_terminal=True,
            highlight=False,
        )
        self.screen = RichScreen(console, WORDS)

    def draw(self, *events: LiveEvent) -> list[str]:
        """An answer from these events; the lines that are left in the end."""
        with self.screen.draw_answer() as drawing:
            for event in events:
                drawing.show(event)
                drawing.tick()
        return self.terminal.text.split("\n")


@pytest.fixture
def display() -> Display:
    return Display()


def streamed(text: str, size: int = 4) -> Iterator[AnswerText]:
    """The text in small pieces."""
    return (AnswerText(text[start : start + size]) for start in range(0, len(text), size))


@pytest.mark.parametrize("arguments", ATTACKS.values(), ids=ATTACKS)
def test_no_argument_of_a_question_looks_like_another(arguments: dict[str, Any]) -> None:
    """However narrow the terminal is: a line that a value was wrapped into begins with no
    bullet."""
    asked = ApprovalAsked("q1", "c1", "launch", render_arguments(arguments), 1_763_703_600_000)
    lines = Display(width=24).draw(asked)
    assert len([line for line in lines if line.lstrip().startswith(BULLET)]) == len(arguments)


def test_what_models_say_of_a_call_stands_below_its_arguments(display: Display) -> None:
    """One line for each, and no markup of theirs."""
    asked = ApprovalAsked(
        "q1", "c1", "launch", "▸ what: rocket", 1_763_703_600_000, ("Why: “[red]x”", "No vote.")
    )
    assert display.draw(asked)[1:5] == [
        "? launch",
        "    ▸ what: rocket",
        "  Why: “[red]x”",
        "  No vote.",
    ]


def test_an_answer_turns_nothing_round(display: Display) -> None:
    """Directions that are opened in it would hold for what stands after it."""
    turned = "a\u202eb\u2067c\u2028d\x9be"
    assert display.draw(*streamed(turned), Answered("t1", turned))[1:] == ["abc", "de"]


def test_a_growing_answer_is_read_once(display: Display) -> None:
    """Paragraphs, lists and tables come out as if they had been printed whole."""
    text = (
        "Two **places**:\n\n1. 東京\n2. Kyoto\n\n| a | b |\n|---|---|\n| 1 | 京都 |\n\nThat is "
        "`all`."
    )
    assert display.draw(*streamed(text), Answered("t1", text)) == [
        "",
        "Two places:",
        "",
        " 1 東京",
        " 2 Kyoto",
        "",
        " a  b",
        " ───────",
        " 1  京都",
        "",
        "That is all.",
    ]


def test_words_are_seen_before_the_answer_is_over(display: Display) -> None:
    """What has come is on the screen, the unfinished block included."""
    with display.screen.draw_answer() as drawing:
        for event in streamed("First.\n\nSecond, unfin"):
            drawing.show(event)
        assert display.terminal.text == "\nFirst.\n\nSecond, unfin"


def test_a_list_longer_than_the_screen_is_neither_doubled_nor_cut(display: Display) -> None:
    """While it grows its end is shown; what has left the screen cannot be erased, so it is not
    drawn yet."""
    expected = ["", *(f" • item {number}" for number in range(30)), "", "Done."]
    assert (
        display.draw(*streamed(f"{LONG}\n\nDone."), Answered("t1", f"{LONG}\n\nDone.")) == expected
    )


def test_the_end_of_a_long_block_is_what_is_shown_of_it(display: Display) -> None:
    """A reader follows the newest words."""
    with display.screen.draw_answer() as drawing:
        drawing.show(AnswerText(LONG))
        assert display.terminal.text.split("\n")[-1] == " • item 29"
        assert len(display.terminal.text.split("\n")) < display.terminal.height


def test_something_turns_while_one_waits(display: Display) -> None:
    """Before the first word there is a sign of life, and nothing of it stays."""
    with display.screen.draw_answer() as drawing:
        drawing.show(TurnStarted("t1", ("m1",)))
        assert display.terminal.text.strip() in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    assert display.terminal.text == ""


def test_calls_stand_with_arguments_result_and_time(display: Display) -> None:
    """Side by side while they run, in the order of the calls whatever ends first; each on lines
    that do not wrap."""
    events: list[LiveEvent] = [
        AnswerText("Let me look."),
        ToolStarted("c1", "get_weather", {"location": "東京", "days": 2}),
        ToolStarted("c2", "get_weather", {"location": "Nowhere"}),
        ToolFinished("c2", "get_weather", {"error": "location not found"}, True, 46),
        ToolFinished("c1", "get_weather", {"location": "Tokyo", "note": "x" * 80}, False, 412),
        AnswerText("21 degrees."),
        Answered("t1", "21 degrees."),
    ]
    assert display.draw(*events) == [
        "",
        "Let me look.",
        "",
        '✓ get_weather(location="東京", days=2)  412 ms',
        '  {"location":"Tokyo","note":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxx…',
        '✗ get_weather(location="Nowhere")  46 ms',
        "  location not found",
        "",
        "21 degrees.",
    ]


def test_a_running_call_is_seen_at_once(display: Display) -> None:
    """The name and the arguments, before there is a result."""
    with display.screen.draw_answer() as drawing:
        drawing.show(ToolStarted("c1", "calculate", {"expression": "1+1" * 40}))
        assert "calculate(expression=" in display.terminal.text
        assert display.terminal.text.endswith("…")


def test_a_failure_is_told_with_its_note(display: Display) -> None:
    """What had come stays; the apology follows, and beneath it cause and fix for whoever runs the
    bot."""
    apology = Answered("t1", "That took too long.", failed=True, note="GEMINI_API_KEY is wrong")
    lines = display.draw(AnswerText("I think"), apology)
    assert lines == [
        "",
        "I think",
        "",
        "That took too long.",
        "  GEMINI_API_KEY is wrong",
    ]


def test_a_failure_without_a_note_is_one_line(display: Display) -> None:
    """Nothing is put beneath where there is nothing to say."""
    assert display.draw(Answered("t1", "Blocked.", failed=True)) == ["", "Blocked."]


def test_growing_words_vanish_when_the_model_starts_over(display: Display) -> None:
    """What was not printed for good needs no apology."""
    assert display.draw(
        AnswerText("Wro"), AnswerRestarted(), AnswerText("Right"), Answered("t1", "Right")
    ) == [
        "",
        "Right",
    ]


def test_printed_words_are_called_void_when_the_model_starts_over(display: Display) -> None:
    """Printed text cannot be erased, so a notice says that it is void."""
    lines = display.draw(
        AnswerText("Wrong.\n\nMore.\n\n"), AnswerRestarted(), Answered("t1", "Right.")
    )
    assert lines == ["", "Wrong.", "", WORDS["restarted"], "", "Right."]


def test_lost_words_are_made_good_by_the_whole_answer(display: Display) -> None:
    """Live events may get lost; the last one has everything."""
    assert display.draw(AnswerText("It is"), Answered("t1", "It is 21 °C.")) == ["", "It is 21 °C."]


def test_an_answer_that_differs_from_printed_words_is_shown_whole(display: Display) -> None:
    """Better twice than with a hole."""
    lines = display.draw(AnswerText("One.\n\nTwo\n"), Answered("t1", "Zero.\n\nOne.\n\nTwo"))
    assert lines == ["", "One.", "", "Zero.", "", "One.", "", "Two"]


def test_an_interrupted_answer_stays_as_far_as_it_came(display: Display) -> None:
    """Ctrl-C keeps what was read already, calls that still run included."""

    def interrupted() -> None:
        with display.screen.draw_answer() as drawing:
            drawing.show(AnswerText("Half an answ"))
            drawing.show(ToolStarted("c1", "slow", {}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    lines = display.terminal.text.split("\n")
    assert lines[:3] == ["", "Half an answ", ""]
    assert lines[3].endswith("slow()")


def test_a_question_stands_in_the_place_of_its_call(display: Display) -> None:
    """Tool and arguments, one a line, and until when; the call turns no more, as it has not been
    made."""
    asked = ApprovalAsked(
        "q1", "c2", "send_mail", "to: 花子\nbody: [red] \\n " + "x" * 60, 1_763_703_600_000
    )
    lines = display.draw(
        ToolStarted("c1", "find", {}),
        ToolFinished("c1", "find", {"n": 1}, False, 5),
        ToolStarted("c2", "send_mail", {"to": "花子"}),
        asked,
    )
    assert lines[:8] == [
        "",
        "✓ find()  5 ms",
        '  {"n":1}',
        "",
        "? send_mail",
        "    to: 花子",
        "    body: [red] \\n",
        f"    {'x' * 56}",
    ]
    assert f"Open until {clock_time(asked.until)}." in " ".join(lines[9:])


def test_a_word_beside_the_turn_is_told(display: Display) -> None:
    """The answer goes on around it."""
    assert display.draw(Noticed("Too late."), Answered("t1", "Done.")) == [
        "",
        "Too late.",
        "",
        "Done.",
    ]


def test_the_result_of_an_unknown_call_is_passed_over(display: Display) -> None:
    """Its start got lost on the way; the answer is what counts."""
    lines = display.draw(ToolFinished("c9", "calculate", {}, False, 1), Answered("t1", "2"))
    assert lines == ["", "2"]


def test_nobody_steers_the_terminal(display: Display) -> None:
    """Escape sequences of a model, a tool or a user come out as harmless text."""
    evil = "a\x1b[2Jb\x07\x9b1mc\u202e"
    lines = display.draw(
        ToolStarted("c1", "tool", {"x": evil}),
        ToolFinished("c1", "tool", {"error": evil}, True, 1),
        Answered("t1", evil, failed=True, note=evil),
    )
    display.screen.show_last_turn(evil, evil)
    assert lines[1].startswith("✗ tool(")
    assert "\x1b" not in display.terminal.text
    assert "\x9b" not in display.terminal.text


def test_sentences_of_ours_stand_apart(display: Display) -> None:
    """Notices, errors, answers and the last turn, each followed by an empty line."""
    display.screen.show_notice("Told")
    display.screen.show_error("Refused", "because")
    display.screen.show_answer("- an\n- answer")
    display.screen.show_last_turn("question", "x" * 700)
    told = display.terminal.text.split("\n")
    assert told[:10] == [
        "Told",
        "",
        "Refused",
        "  because",
        "",
        " • an",
        " • answer",
        "",
        "› question",
        "",
    ]
    assert "".join(told[10:]) == "x" * 600 + "…"


def test_a_picture_is_told_in_words(display: Display) -> None:
    """Below the answer, and with nothing that turns text round."""
    lines = display.draw(
        Answered("t1", "Here.", files=(ShownFile("/files/1", "a.png", "20 \u202e°C"),))
    )
    assert lines[-3:] == ["Here.", "", "20 °C"]


def test_a_poll_is_shown_with_its_counts(display: Display) -> None:
    """Its options are lines; its control characters do not get through."""
    poll = PollShown("poll_1", "Where?\u202e", ("Sushi", "Curry"), (2, 0), "Votes: 2.", "Close")
    lines = display.draw(poll, Answered("t1", "Please vote."))
    assert " ".join(lines) == f" Where? 1 Sushi: 2 2 Curry: 0 {WORDS['vote']}  Please vote."
