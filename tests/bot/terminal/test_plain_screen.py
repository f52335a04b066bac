"""A conversation in a pipe: answers in one stream, all the rest in the other."""

from __future__ import annotations

import io

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
)
from bot.terminal import clock_time
from bot.terminal.plain_screen import PlainScreen
from tests.bot.terminal.harness import WORDS
from toolset.shown import Card


class Pipe:
    """Both streams of a plain screen."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.err = io.StringIO()
        self.screen = PlainScreen(
            self.out, self.err, WORDS | {"restarted": "(again)", "question": "Until {time}?"}
        )

    def draw(self, *events: LiveEvent) -> tuple[str, str]:
        """An answer from these events; what came out."""
        with self.screen.draw_answer() as drawing:
            for event in events:
                drawing.show(event)
                drawing.tick()
        return self.out.getvalue(), self.err.getvalue()


def test_words_go_out_as_they_come() -> None:
    """Whoever reads the pipe does not wait for the end."""
    pipe = Pipe()
    with pipe.screen.draw_answer() as drawing:
        drawing.show(AnswerText("It is "))
        assert pipe.out.getvalue() == "It is "
        drawing.show(Answered("t1", "It is 21 °C."))
    assert pipe.out.getvalue() == "It is 21 °C.\n"


def test_calls_are_told_beside_the_answer() -> None:
    """The answer alone is in the first stream; words before a call end their line."""
    events: list[LiveEvent] = [
        AnswerText("Let me look."),
        ToolStarted("c1", "get_weather", {"location": "東京"}),
        ToolFinished("c1", "get_weather", {"temp": 21}, False, 412),
        ToolFinished("c2", "lost", {"error": "timed out after 3 s"}, True, 3001),
        AnswerText("21 °C"),
        Answered("t1", "21 °C"),
    ]
    assert Pipe().draw(*events) == (
        "Let me look.\n21 °C\n",
        (
            '✓ get_weather(location="東京") · 412 ms\n  {"temp":21}\n✗ lost · 3001 ms\n  timed out '
            "after 3 s\n"
        ),
    )


def test_a_question_is_told_beside_the_answer() -> None:
    """Tool, arguments and until when; words before it end their line."""
    asked = ApprovalAsked(
        "q1", "c1", "launch", "what: rocket\nwhen: now", 1_763_703_600_000, ("Why.",)
    )
    told = (
        f"? launch\n  what: rocket\n  when: now\nWhy.\nUntil {clock_time(asked.until)}?\nToo "
        "late.\n"
    )
    assert Pipe().draw(AnswerText("Shall I"), asked, Noticed("Too late.")) == ("Shall I\n", told)


def test_a_failure_is_no_answer() -> None:
    """The apology and its note go where errors go."""
    assert Pipe().draw(
        AnswerText("I th"), Answered("t1", "Too slow.", failed=True, note="cause")
    ) == (
        "I th\n",
        "Too slow.\ncause\n",
    )


def test_void_words_are_called_void() -> None:
    """A pipe takes nothing back; where nothing was written nothing is said."""
    assert Pipe().draw(
        AnswerRestarted(), AnswerText("Wro"), AnswerRestarted(), Answered("t1", "Right")
    ) == (
        "Wro\nRight\n",
        "(again)\n",
    )


def test_an_answer_that_ends_its_line_gets_no_second_end() -> None:
    """No empty lines between the answers to several questions."""
    assert Pipe().draw(Answered("t1", "One\n")) == ("One\n", "")


def test_control_characters_do_not_get_through() -> None:
    """The pipe may end on a terminal."""
    pipe = Pipe()
    pipe.screen.show_answer("a\x1b[31mb\tc")
    pipe.screen.show_last_turn("before", "that")
    assert pipe.out.getvalue() == "a[31mb\tc\n"
    assert pipe.err.getvalue() == ""


def test_a_picture_is_told_in_words() -> None:
    """With its address, where it has one for everybody."""
    files = (
        ShownFile("/files/1", "a.png", "20 °C", "https://kaiwa.example/files/1"),
        ShownFile("", "b.png", "9 °C"),
    )
    out, _ = Pipe().draw(AnswerText("Here."), Answered("t1", "Here.", files=files))
    assert out == "Here.\n\n20 °C\nhttps://kaiwa.example/files/1\n\n9 °C\n"


def test_cards_and_choices_are_told_below_the_answer() -> None:
    """Choices on one line, with numbers."""
    card = Card("Tokyo", (("Now", "20 °C"), ("", "Sunny")), "wttr.in")
    out, _ = Pipe().draw(
        Answered("t1", "Here.", cards=(card, Card("Osaka")), choices=("Today", "Tomorrow"))
    )
    assert out == "Here.\n\nTokyo\nNow: 20 °C\nSunny\nwttr.in\n\nOsaka\n\n[1 Today · 2 Tomorrow]\n"


def test_a_poll_is_told_beside_the_answer() -> None:
    """With its counts."""
    poll = PollShown("poll_1", "Where?", ("Sushi", "Curry"), (2, 0), "Votes: 2.", "Close")
    told = f"Where?\n1 Sushi: 2\n2 Curry: 0\n{WORDS['vote']}\n"
    assert Pipe().draw(AnswerText("Please"), poll, Answered("t1", "Please vote.")) == (
        "Please\nPlease vote.\n",
        told,
    )
