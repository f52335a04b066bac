"""The screen of ``kaiwa chat``: a terminal, where an answer grows in place, or two pipes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

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
    TurnStarted,
)
from bot.terminal import beside_text, call_text, poll_text, printable, question_text, result_text
from bot.terminal.keyboard import Keyboard
from bot.terminal.markdown import ChatMarkdown

MARGIN = 3  # lines of the terminal that the growing text leaves free
RARELY = 10  # drawing takes at most every tenth part of the time
RECALLED = 600  # characters of the last answer, when a conversation goes on
ENDLESS = 1_000_000  # columns of a pipe, where no line is wrapped


class Screen:
    """Shows a conversation; in a pipe the answers go to stdout, and all else to stderr.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
    """

    def __init__(self, labels: Mapping[str, str], out: Console | None = None) -> None:
        self._out = out or Console(highlight=False)
        self._is_terminal = self._out.is_terminal
        pipe = Console(stderr=True, highlight=False, width=ENDLESS)
        self._notes = self._out if self._is_terminal else pipe
        self._labels = labels
        self._keyboard: Keyboard | None = None  # while somebody types
        self._is_spaced = True  # an empty line is above the cursor
        self._last_was_call = False
        self._live: Live | None = None
        self._text: list[str] = []  # of the answer, which grows
        self._draw_at = 0.0
        self._calls: dict[str, tuple[str, Spinner]] = {}

    def notice(self, sentence: str) -> None:
        """Show a sentence of Kaiwa itself, beside the conversation."""
        self._print(Text(printable(sentence), "dim"))

    def error(self, sentence: str, note: str = "") -> None:
        """Show a failure; ``note`` is cause and fix for the operator."""
        below = f"\n  {printable(note)}" if note else ""
        self._print(Text.assemble((printable(sentence), "red"), (below, "dim")))

    def recall(self, question: str, answer: str) -> None:
        """Show the last message and answer of an earlier run, to a person."""
        if self._is_terminal:
            shown = answer if len(answer) <= RECALLED else f"{answer[:RECALLED]}…"
            self.notice(f"› {question}\n\n{shown}")

    @contextmanager
    def typing(self, keyboard: Keyboard) -> Iterator[None]:
        """While the context is open, everything is shown above the prompt."""
        if not self._is_spaced:
            self._out.print()
        self._is_spaced, self._keyboard = True, keyboard
        try:
            yield
        finally:
            self._is_spaced, self._keyboard = False, None

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the context is open, an answer grows."""
        # Transient: what grows is erased, and printed when it is whole. No automatic refresh: a
        # second drawing thread would now and then erase lines of the first.
        with Live(console=self._out, transient=True, auto_refresh=False) as self._live:
            self._update()
            try:
                yield
            finally:
                self._flush()
                for text, _ in self._calls.values():
                    self._print(Text(f"… {text}", "cyan"), is_call=True)
                self._calls = {}
        self._live = None

    def tick(self) -> None:
        """Draw text that has grown, and the next picture of a spinner."""
        begin = time.monotonic()
        if self._text and begin >= self._draw_at:
            self._update()
            end = time.monotonic()
            # Each time the whole text is parsed, so a long one is drawn less often.
            self._draw_at = end + RARELY * (end - begin)
        elif self._live is not None and not self._text:
            self._live.refresh()

    def draw(self, event: LiveEvent) -> None:
        """Draw one event of a turn, or what comes by itself."""
        match event:
            case AnswerText(text):
                self._text.append(printable(text))
            case AnswerRestarted() | TurnStarted():
                self._text, self._calls = [], {}
                self._update()
            case ToolStarted():
                self._flush()
                text = call_text(event)
                shown = Text(text, "cyan")
                shown.truncate(self._out.width - 2, overflow="ellipsis")
                self._calls[event.call_id] = text, Spinner("dots", shown, style="cyan")
                self._update()
            case ToolFinished():
                self._finish_call(event)
            case ApprovalAsked():
                # The question stands in the place of its call, which has not been made.
                self._calls.pop(event.call_id, None)
                self._flush()
                body = question_text(event, self._labels["question"])
                self._print(Text.assemble(("? ", "bold yellow"), (event.tool, "cyan"), body))
            case Noticed(text):
                self.notice(text)
            case PollShown():
                self.notice(poll_text(event, self._labels["vote"]))
            case Answered(_, text, True, note):
                self._flush()
                self.error(text, note)
            case Answered(_, text):
                self._text = [printable(text)]
                beside = printable(beside_text(event))
                self._flush(beside)

    def _flush(self, beside: str = "") -> None:
        """Print the text as it is; what follows begins anew."""
        text = "".join(self._text)
        self._text, self._draw_at = [], 0.0
        self._update()
        if not self._is_terminal and (text + beside).strip():
            self._out.out((text + beside).removesuffix("\n"), highlight=False)
        elif text.strip():
            self._print(ChatMarkdown(text))
        if self._is_terminal and beside:
            self._print(Text(beside.strip()))

    def _finish_call(self, event: ToolFinished) -> None:
        text, _ = self._calls.pop(event.call_id, (event.name, None))
        duration = f"  {event.ms} ms"
        head = Text.assemble(("✗ ", "red") if event.is_error else ("✓ ", "green"), (text, "cyan"))
        head.truncate(self._notes.width - len(duration), overflow="ellipsis")
        result = Text(f"  {result_text(event.response)}", "red" if event.is_error else "dim")
        result.truncate(self._notes.width, overflow="ellipsis")
        self._update()
        self._print(Group(head.append(duration, "dim"), result), is_call=True)

    def _update(self) -> None:
        """Draw what grows: running calls, else the end of the text, else a sign of life."""
        if self._live is None or not self._is_terminal:
            return
        growing: RenderableType = Spinner("dots", style="dim")
        if self._calls:
            growing = Group(*(spinner for _, spinner in self._calls.values()))
        elif self._text:
            last = max(1, self._out.height - MARGIN)
            growing = ChatMarkdown("".join(self._text), last)
        self._live.update(growing, refresh=True)

    def _print(self, content: RenderableType, *, is_call: bool = False) -> None:
        """Print above the prompt, on a terminal after an empty line; calls stand together."""
        if self._keyboard is not None:
            self._keyboard.erase()
        stands_together = is_call and self._last_was_call
        if self._is_terminal and not self._is_spaced and not stands_together:
            self._out.print()
        self._notes.print(content)
        self._is_spaced, self._last_was_call = self._keyboard is not None, is_call
        if self._keyboard is not None:
            self._out.print()
            self._keyboard.redraw()
