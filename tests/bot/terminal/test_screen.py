"""An answer on a terminal, where it grows and is read once, and between pipes."""

from __future__ import annotations

from typing import IO, Any, cast

import pytest
from rich.console import Console

from bot import texts
from bot.channels import say_buttons
from bot.live_events import (
    Answered,
    AnswerRestarted,
    AnswerText,
    CardShown,
    LiveEvent,
    ToolFinished,
    ToolStarted,
)
from bot.safe_text.arguments import render_arguments
from bot.safe_text.glyphs import BULLET
from bot.terminal.screen import Screen, call_text, result_text
from tests.bot.safe_text.corpus import ATTACKS
from tests.fakes.terminal import TerminalFake

WORDS = texts.load().table("terminal", "en")
LONG = "\n".join(f"- item {number}" for number in range(30))


def asking(tool: str, lines: list[str], note: str = "") -> CardShown:
    """A card that asks whether call c2 may be made."""
    rows = tuple(("", line) for line in (tool, *lines))
    return CardShown("q1", f"May I run {tool}?", rows, note, (), 1_763_703_600_000, "c2")


class Display:
    """A terminal and the screen that draws on it."""

    def __init__(self, width: int = 60, height: int = 12) -> None:
        self.terminal = TerminalFake(width, height)
        file = cast(IO[str], self.terminal)
        console = Console(
            file=file, width=width, height=height, force_terminal=True, highlight=False
        )
        self.screen = Screen(WORDS, None, console)

    def draw(self, *events: LiveEvent) -> list[str]:
        """An answer from these events; the lines that are left in the end."""
        with self.screen.answering():
            for event in events:
                self.screen.draw(event)
                self.screen.tick()
        return self.terminal.text.split("\n")


@pytest.fixture
def display() -> Display:
    return Display()


@pytest.mark.parametrize("arguments", ATTACKS.values(), ids=ATTACKS)
def test_no_argument_of_a_question_looks_like_another(arguments: dict[str, Any]) -> None:
    """However narrow the terminal is, a line that a value is wrapped into has no bullet."""
    lines = Display(width=24).draw(asking("launch", render_arguments(arguments).split("\n")))
    bulleted = [line for line in lines if line.lstrip().startswith(BULLET)]
    assert len(bulleted) == len(arguments)


def test_an_answer_grows_and_is_read_once(display: Display) -> None:
    """While it grows its end is seen; then it stands as Markdown, with what is beside it."""
    text = f"Two **places**:\n\n{LONG}\n\nDone."
    with display.screen.answering():
        for start in range(0, len(text), 4):
            display.screen.draw(AnswerText(text[start : start + 4]))
        display.screen.tick()
        lines = display.terminal.text.split("\n")
        assert lines[-1] == "Done."
        assert len(lines) < display.terminal.height
        display.screen.draw(Answered("t1", text, buttons=say_buttons(("Yes", "No"))))
    items = [f" • item {number}" for number in range(30)]
    expected = ["Two places:", "", *items, "", "Done.", "", "[1 Yes · 2 No]"]
    assert display.terminal.text.split("\n") == expected


def test_calls_are_one_line_each_with_their_results(display: Display) -> None:
    """Running ones turn; whatever is too long is cut; the words before and after stand apart."""
    with display.screen.answering():
        display.screen.draw(AnswerText("Let me look."))
        display.screen.draw(ToolStarted("c1", "get_weather", {"location": "x" * 80}, "Weather"))
        display.screen.tick()
        assert display.terminal.text.endswith("…")
        assert "Weather · location=" in display.terminal.text
    lines = Display().draw(
        AnswerText("Let me look."),
        ToolStarted("c1", "get_weather", {"location": "東京"}, "Weather"),
        ToolStarted("c2", "add", {"a": 1}),
        ToolFinished("c1", "get_weather", {"note": "x" * 80}, False, 412),
        ToolFinished("c2", "add", {"error": "timed out"}, True, 46),
        Answered("t1", "21 degrees."),
    )
    assert lines == [
        "Let me look.",
        "",
        '✓ Weather · location="東京"  412 ms',
        '  {"note":"' + "x" * 48 + "…",
        "✗ add(a=1)  46 ms",
        "  timed out",
        "",
        "21 degrees.",
    ]


def test_words_vanish_when_the_model_starts_over(display: Display) -> None:
    """What grows is not printed for good, so nothing has to be declared void."""
    wrong = AnswerText("Wrong.\n\nMore.\n\n")
    assert display.draw(wrong, AnswerRestarted(), Answered("t1", "Right.")) == ["Right."]


def test_an_interrupted_answer_stays_as_far_as_it_came(display: Display) -> None:
    """Ctrl-C keeps what was read already, calls that still run included."""
    events = AnswerText("Half an answ"), ToolStarted("c1", "slow", {})
    assert display.draw(*events) == ["Half an answ", "", "… slow()"]


def test_a_question_stands_in_the_place_of_its_call(display: Display) -> None:
    """Tool, arguments, what models say of it, and until when; the call has not been made."""
    asked = asking("send_mail", ["▸ to: 花子"], "[red]Why")
    lines = display.draw(ToolStarted("c2", "send_mail", {"to": "花子"}), asked)
    assert lines[:3] == ["? send_mail", "  ▸ to: 花子", "  [red]Why"]
    assert lines[3].startswith("  May I do this?")


def test_nobody_steers_the_terminal(display: Display) -> None:
    """Escape sequences and directions of a model, a tool or a user come out as harmless text."""
    evil = "a\x1b[2Jb\x07\x9b1mc\u202e"
    display.draw(
        AnswerText(evil),
        ToolStarted("c1", "tool", {"x": evil}),
        ToolFinished("c1", "tool", {"error": evil}, True, 1),
        Answered("t1", evil),
        Answered("t1", evil, failed=True, note=evil),
    )
    display.screen.notice(evil)
    assert "\x1b" not in display.terminal.text
    assert "\x9b" not in display.terminal.text
    assert "\u202e" not in display.terminal.text


def test_a_pipe_gets_whole_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Without words that became void; calls, apologies and their notes are beside the answers."""
    screen = Screen(WORDS, None)
    with screen.answering():
        for event in (
            AnswerText("Wrong"),
            AnswerRestarted(),
            AnswerText("Let me look."),
            ToolStarted("c1", "get_weather", {"location": "x" * 200}),
            ToolFinished("c1", "get_weather", {"temp": 21}, False, 412),
            AnswerText("It is "),
            Answered("t1", "**21** °C\n"),
            Answered("t2", "Too slow.", failed=True, note="cause"),
        ):
            screen.draw(event)
            screen.tick()
    out, err = capsys.readouterr()
    assert out == "Let me look.\n**21** °C\n"
    call = f'get_weather(location="{"x" * 200}")'
    assert err == f'✓ {call}  412 ms\n  {{"temp":21}}\nToo slow.\n  cause\n'


def test_calls_and_results_are_one_line() -> None:
    """As code, or with the title; an error in its own words; what is too long is cut."""
    given = {"place": "東京\n", "days": [1, 2]}
    assert call_text(ToolStarted("c1", "look", given)) == 'look(place="東京\\n", days=[1,2])'
    assert call_text(ToolStarted("c1", "time", {}, "Time")) == "Time"
    assert result_text({"error": "timed out\nafter 3 s"}) == "timed out after 3 s"
    assert result_text({"error": "x", "more": 1}) == '{"error":"x","more":1}'
    assert result_text({"error": "x" * 5000}) == "x" * 600 + "…"
