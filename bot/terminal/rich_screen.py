"""Draws a conversation on a terminal. An answer grows without flicker: what is finished is printed once, for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.text import Text

from bot.live_events import (
    Answered,
    AnswerRestarted,
    AnswerText,
    ApprovalAsked,
    LiveEvent,
    Noticed,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from bot.terminal import Drawing, call_text, clock_time, printable, result_text, unseen
from bot.terminal.markdown import Prose, part

OFTEN = 1_000  # characters up to which a block is drawn with every word, beyond with every tenth of its length
MARGIN = 3  # lines of the screen left free of what still moves
RECALLED = 600  # characters of the last answer, when a conversation goes on


class RichScreen:
    """A screen (``bot.terminal.Screen``) on a terminal.

    Args:
        words: our own sentences, by key.
    """

    def __init__(self, console: Console, words: Mapping[str, str]) -> None:
        self._console = console
        self._words = words

    @contextmanager
    def answering(self) -> Iterator[Drawing]:
        self._console.print()
        # Transient: what still moves is erased at the end, and what is to stay has been printed by then. No automatic
        # refresh: a second thread that draws would now and then erase lines of the first.
        with Live(console=self._console, transient=True, auto_refresh=False) as live:
            drawing = _RichDrawing(live, self._words)
            try:
                yield drawing
            finally:
                drawing.settle()
                self._console.print()

    def tell(self, sentence: str) -> None:
        self._console.print(Text(printable(sentence), style="dim"))
        self._console.print()

    def complain(self, sentence: str, note: str = "") -> None:
        self._console.print(_complaint(sentence, note))
        self._console.print()

    def give(self, answer: str) -> None:
        self._console.print(Prose(printable(answer)))
        self._console.print()

    def recall(self, question: str, answer: str) -> None:
        answer = answer if len(answer) <= RECALLED else f"{answer[:RECALLED]}…"
        self._console.print(Text(f"› {printable(question)}\n\n{printable(answer)}\n", style="dim"))


class _Call:
    """A tool call on the screen: it turns while it runs, then it has its result beneath."""

    def __init__(self, event: ToolStarted) -> None:
        self.finished: ToolFinished | None = None
        self._text = call_text(event.name, event.arguments)
        self._spinner = Spinner("dots", style="cyan")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        event = self.finished
        if event is None:
            yield self._head(self._spinner.render(console.get_time()), "", options.max_width)
            return
        mark = Text("✗", "red") if event.is_error else Text("✓", "green")
        yield self._head(mark, f"  {event.ms} ms", options.max_width)
        result = Text(f"  {result_text(event.response)}", "red" if event.is_error else "dim")
        result.truncate(options.max_width, overflow="ellipsis")
        yield result

    def _head(self, mark: RenderableType, time: str, width: int) -> Text:
        head = Text.assemble(mark if isinstance(mark, Text) else "", " ", (self._text, "cyan"))
        head.truncate(width - len(time), overflow="ellipsis")
        return head.append(time, "dim")


class _RichDrawing:
    """An answer between what is printed and what still moves: running calls, or the last block of words."""

    def __init__(self, live: Live, words: Mapping[str, str]) -> None:
        self._live = live
        self._words = words
        self._begun = False  # something has been printed
        self._printed: list[str] = []  # of the words of this model response
        self._growing = ""
        self._more: list[str] = []  # words that are drawn with those that follow
        self._undrawn = 0  # characters of them
        self._calls: dict[str, _Call] = {}
        self._wait()

    def show(self, event: LiveEvent) -> None:
        match event:
            case AnswerText(text):
                self._grow(printable(text))
            case AnswerRestarted() | TurnStarted():
                self._restart()
            case ToolStarted():
                self._start_call(event)
            case ToolFinished():
                self._finish_call(event)
            case ApprovalAsked():
                self._ask(event)
            case Noticed(text):
                self._print(Text(printable(text), style="dim"))
            case Answered(_, text, True, note):
                self.settle()
                self._print(_complaint(text, note))
            case Answered(_, text):
                self._growing, self._more = unseen(printable(text), "".join(self._printed)), []
                self.settle()

    def tick(self) -> None:
        self._live.refresh()

    def settle(self) -> None:
        """Print what still moves, as it stands, and let nothing move."""
        growing, self._growing = "".join((self._growing, *self._more)), ""
        self._more = []
        calls, self._calls = self._calls, {}
        self._live.update(Text())
        if calls:
            self._print(Group(*calls.values()))
        self._print_block(growing)

    def _wait(self) -> None:
        self._live.update(Spinner("dots", style="dim"), refresh=True)

    def _grow(self, text: str) -> None:
        """Draw more words. A long block is read as a whole each time, so not with every word."""
        self._more.append(text)
        self._undrawn += len(text)
        if self._undrawn * 10 < len(self._growing) - OFTEN:
            return
        blocks, self._growing = part("".join((self._growing, *self._more)))
        self._more, self._undrawn = [], 0
        # First the new end, then what stands above it: printing draws both, and nothing is seen twice.
        self._live.update(Prose(self._growing, last=max(1, self._live.console.height - MARGIN)))
        for block in blocks:
            self._print_block(block)
        self._live.refresh()

    def _restart(self) -> None:
        """Growing words vanish; of printed ones it is said that they are void."""
        if any(map(str.strip, self._printed)):
            self._print(Text(self._words["restarted"], style="dim"))
        self._printed, self._growing, self._more = [], "", []
        self._calls = {}
        self._wait()

    def _start_call(self, event: ToolStarted) -> None:
        if not self._calls:
            self.settle()
            self._printed = []
        self._calls[event.call_id] = _Call(event)
        self._live.update(Group(*self._calls.values()), refresh=True)

    def _finish_call(self, event: ToolFinished) -> None:
        if call := self._calls.get(event.call_id):
            call.finished = event
        if all(call.finished for call in self._calls.values()):
            self.settle()
            self._wait()

    def _ask(self, event: ApprovalAsked) -> None:
        """The call that is asked about has not been made: the question stands in its place."""
        self._calls = {key: call for key, call in self._calls.items() if call.finished}
        self.settle()
        given = [Padding(Text(line), (0, 0, 0, 4)) for line in event.shown.splitlines()]
        sentence = self._words["question"].format(time=clock_time(event.until))
        head = Text.assemble(("?", "bold yellow"), " ", (event.tool, "cyan"))
        self._print(Group(head, *given, Text(f"  {sentence}", style="dim")))

    def _print_block(self, block: str) -> None:
        if block.strip():
            self._print(Prose(block))
        self._printed.append(block)

    def _print(self, content: RenderableType) -> None:
        """Print for good, after an empty line where something stands already."""
        if self._begun:
            self._live.console.print()
        self._begun = True
        self._live.console.print(content)


def _complaint(sentence: str, note: str) -> RenderableType:
    lines: list[RenderableType] = [Text(printable(sentence), style="red")]
    if note:
        lines.append(Padding(Text(printable(note), style="dim"), (0, 0, 0, 2)))
    return Group(*lines)
