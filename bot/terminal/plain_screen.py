"""Writes a conversation where no terminal is: answers to one stream, word by word, everything else to another."""

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
    ToolFinished,
    ToolStarted,
)
from bot.terminal import Drawing, call_text, clock_time, printable, result_text, unseen


class PlainScreen:
    """A screen (``bot.terminal.Screen``) for pipes and files.

    Args:
        words: our own sentences, by key.
    """

    def __init__(self, out: TextIO, err: TextIO, words: Mapping[str, str]) -> None:
        self._out = out
        self._err = err
        self._words = words

    @contextmanager
    def answering(self) -> Iterator[Drawing]:
        drawing = _PlainDrawing(self, self._words)
        yield drawing
        drawing.end_line()

    def tell(self, sentence: str) -> None:
        print(printable(sentence), file=self._err, flush=True)

    def complain(self, sentence: str, note: str = "") -> None:
        for line in filter(None, (sentence, note)):
            self.tell(line)

    def give(self, answer: str) -> None:
        self.write(f"{answer}\n")

    def recall(self, question: str, answer: str) -> None:
        """Nothing: whoever reads a pipe wants what is new."""

    def write(self, words: str) -> None:
        """Words of an answer, at once."""
        print(printable(words), end="", file=self._out, flush=True)


class _PlainDrawing:
    def __init__(self, screen: PlainScreen, words: Mapping[str, str]) -> None:
        self._screen = screen
        self._words = words
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
                self._calls[event.call_id] = call_text(event.name, event.arguments)
            case ToolFinished():
                call = self._calls.pop(event.call_id, event.name)
                self._screen.tell(
                    f"{'✗' if event.is_error else '✓'} {call} · {event.ms} ms\n  {result_text(event.response)}"
                )
            case ApprovalAsked():
                self._ask(event)
            case Noticed(text):
                self.end_line()
                self._screen.tell(text)
            case Answered(_, text, True, note):
                self.end_line()
                self._screen.complain(text, note)
            case Answered(_, text):
                self._write(unseen(text, "".join(self._shown)))

    def tick(self) -> None:
        """Nothing turns here."""

    def end_line(self) -> None:
        """Whatever comes next begins on a line of its own."""
        if self._shown and not self._shown[-1].endswith("\n"):
            self._screen.write("\n")
        self._shown = []

    def _write(self, text: str) -> None:
        if text:
            self._shown.append(text)
            self._screen.write(text)

    def _ask(self, event: ApprovalAsked) -> None:
        self.end_line()
        lines = [f"? {event.tool}", *(f"  {line}" for line in event.shown.splitlines())]
        self._screen.tell("\n".join([*lines, self._words["question"].format(time=clock_time(event.until))]))

    def _restart(self) -> None:
        """Written words cannot be taken back; it is said that they are void."""
        if self._shown:
            self.end_line()
            self._screen.tell(self._words["restarted"])
