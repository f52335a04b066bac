"""A screen for pipes and files: answers go to one stream, as they are generated, everything else to
another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from bot.live_events import (
    Answered,
    AnswerRestarted,
    AnswerText,
    ApprovalAsked,
    LiveEvent,
    Noticed,
    PollShown,
    ToolFinished,
    ToolStarted,
)
from bot.terminal import (
    Drawing,
    beside_text,
    call_text,
    clock_time,
    poll_text,
    printable,
    rest_of,
    result_text,
)


class PlainScreen:
    """A screen (``bot.terminal.Screen``) for pipes and files.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
    """

    def __init__(self, out: TextIO, err: TextIO, labels: Mapping[str, str]) -> None:
        self._out = out
        self._err = err
        self._labels = labels

    @contextmanager
    def draw_answer(self) -> Iterator[Drawing]:
        drawing = _PlainDrawing(self, self._labels)
        yield drawing
        drawing.end_line()

    def show_notice(self, sentence: str) -> None:
        print(printable(sentence), file=self._err, flush=True)

    def show_error(self, sentence: str, note: str = "") -> None:
        for line in filter(None, (sentence, note)):
            self.show_notice(line)

    def show_answer(self, answer: str) -> None:
        self.write(f"{answer}\n")

    def show_last_turn(self, question: str, answer: str) -> None:
        """Show nothing: the reader of a pipe wants new text only."""

    def write(self, text: str) -> None:
        """Write a piece of an answer, unbuffered."""
        print(printable(text), end="", file=self._out, flush=True)


class _PlainDrawing:
    def __init__(self, screen: PlainScreen, labels: Mapping[str, str]) -> None:
        self._screen = screen
        self._labels = labels
        self._shown: list[str] = []
        self._calls: dict[str, str] = {}

    def show(self, event: LiveEvent) -> None:
        match event:
            case AnswerText(text):
                self._write(text)
            case AnswerRestarted():
                self._restart()
            case ToolStarted():
                self.end_line()
                self._calls[event.call_id] = call_text(event)
            case ToolFinished():
                call = self._calls.pop(event.call_id, event.name)
                self._screen.show_notice(
                    f"{'✗' if event.is_error else '✓'} {call} · {event.ms} ms\n  "
                    f"{result_text(event.response)}"
                )
            case ApprovalAsked():
                self._ask(event)
            case Noticed(text):
                self.end_line()
                self._screen.show_notice(text)
            case PollShown():
                self.end_line()
                self._screen.show_notice(poll_text(event, self._labels["vote"]))
            case Answered(_, text, True, note):
                self.end_line()
                self._screen.show_error(text, note)
            case Answered(_, text):
                self._write(rest_of(text, "".join(self._shown)))
                self._write(beside_text(event))

    def tick(self) -> None:
        """Draw nothing: a pipe has no spinner."""

    def end_line(self) -> None:
        """Let the next text begin on a new line."""
        if self._shown and not self._shown[-1].endswith("\n"):
            self._screen.write("\n")
        self._shown = []

    def _write(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._screen.write(text)

    def _ask(self, event: ApprovalAsked) -> None:
        self.end_line()
        lines = [
            f"? {event.tool}",
            *(f"  {line}" for line in event.shown.splitlines()),
            *event.remarks,
        ]
        self._screen.show_notice(
            "\n".join([*lines, self._labels["question"].format(time=clock_time(event.until))])
        )

    def _restart(self) -> None:
        """Say that the text so far is void: it cannot be erased."""
        if self._shown:
            self.end_line()
            self._screen.show_notice(self._labels["restarted"])
