"""A screen for terminals. A growing answer does not flicker: a finished block is printed once and
stays."""

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
    PollShown,
    ToolFinished,
    ToolStarted,
    TurnStarted,
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
from bot.terminal.markdown import ChatMarkdown, split_finished

# characters: up to here a block is redrawn with every piece, beyond with every tenth of its length
OFTEN = 1_000
MARGIN = 3  # lines of the screen that the growing block leaves free
RECALLED = 600  # characters of the last answer, when a conversation goes on


class RichScreen:
    """A screen (``bot.terminal.Screen``) on a terminal.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
    """

    def __init__(self, console: Console, labels: Mapping[str, str]) -> None:
        self._console = console
        self._labels = labels

    @contextmanager
    def draw_answer(self) -> Iterator[Drawing]:
        self._console.print()
        # Transient: the live part is erased at the end; by then everything has been printed. No
        # automatic refresh: a second drawing thread would now and then erase lines of the first.
        with Live(console=self._console, transient=True, auto_refresh=False) as live:
            drawing = _RichDrawing(live, self._labels)
            try:
                yield drawing
            finally:
                drawing.flush()
                self._console.print()

    def show_notice(self, sentence: str) -> None:
        self._console.print(Text(printable(sentence), style="dim"))
        self._console.print()

    def show_error(self, sentence: str, note: str = "") -> None:
        self._console.print(_complaint(sentence, note))
        self._console.print()

    def show_answer(self, answer: str) -> None:
        self._console.print(ChatMarkdown(printable(answer)))
        self._console.print()

    def show_last_turn(self, question: str, answer: str) -> None:
        answer = answer if len(answer) <= RECALLED else f"{answer[:RECALLED]}…"
        self._console.print(Text(f"› {printable(question)}\n\n{printable(answer)}\n", style="dim"))


class _Call:
    """A tool call: a spinner while it runs, then its result below it."""

    def __init__(self, event: ToolStarted) -> None:
        self.finished: ToolFinished | None = None
        self._text = call_text(event)
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
    """An answer: what is printed, then the live part, which is running calls or the last block of
    text."""

    def __init__(self, live: Live, labels: Mapping[str, str]) -> None:
        self._live = live
        self._labels = labels
        self._begun = False  # something has been printed
        self._printed: list[str] = []  # text of this model response
        self._pending = ""
        self._more: list[str] = []  # text after _pending that has not been drawn
        self._undrawn = 0  # its characters
        self._calls: dict[str, _Call] = {}
        self._wait()

    def show(self, event: LiveEvent) -> None:
        match event:
            case AnswerText(text):
                self._append(printable(text))
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
            case PollShown():
                self._print(Text(printable(poll_text(event, self._labels["vote"])), style="dim"))
            case Answered(_, text, True, note):
                self.flush()
                self._print(_complaint(text, note))
            case Answered(_, text):
                self._pending, self._more = rest_of(printable(text), "".join(self._printed)), []
                self.flush()
                if beside := beside_text(event).strip():
                    self._print(Text(printable(beside)))

    def tick(self) -> None:
        self._live.refresh()

    def flush(self) -> None:
        """Print the live part as it is and empty it."""
        growing, self._pending = "".join((self._pending, *self._more)), ""
        self._more = []
        calls, self._calls = self._calls, {}
        self._live.update(Text())
        if calls:
            self._print(Group(*calls.values()))
        self._print_block(growing)

    def _wait(self) -> None:
        self._live.update(Spinner("dots", style="dim"), refresh=True)

    def _append(self, text: str) -> None:
        """Draw more text. Each time the whole block is parsed, so a long one is drawn less
        often."""
        self._more.append(text)
        self._undrawn += len(text)
        if self._undrawn * 10 < len(self._pending) - OFTEN:
            return
        blocks, self._pending = split_finished("".join((self._pending, *self._more)))
        self._more, self._undrawn = [], 0
        # First the new live part, then the blocks above it: printing draws both, and nothing is
        # seen twice.
        self._live.update(
            ChatMarkdown(self._pending, last=max(1, self._live.console.height - MARGIN))
        )
        for block in blocks:
            self._print_block(block)
        self._live.refresh()

    def _restart(self) -> None:
        """Erase the live part; say of printed text that it is void."""
        if any(map(str.strip, self._printed)):
            self._print(Text(self._labels["restarted"], style="dim"))
        self._printed, self._pending, self._more = [], "", []
        self._calls = {}
        self._wait()

    def _start_call(self, event: ToolStarted) -> None:
        if not self._calls:
            self.flush()
            self._printed = []
        self._calls[event.call_id] = _Call(event)
        self._live.update(Group(*self._calls.values()), refresh=True)

    def _finish_call(self, event: ToolFinished) -> None:
        if call := self._calls.get(event.call_id):
            call.finished = event
        if all(call.finished for call in self._calls.values()):
            self.flush()
            self._wait()

    def _ask(self, event: ApprovalAsked) -> None:
        """Draw the question in place of its call, which has not been made."""
        self._calls = {key: call for key, call in self._calls.items() if call.finished}
        self.flush()
        given = [Padding(Text(line), (0, 0, 0, 4)) for line in event.shown.splitlines()]
        remarks = [Padding(Text(remark), (0, 0, 0, 2)) for remark in event.remarks]
        sentence = self._labels["question"].format(time=clock_time(event.until))
        head = Text.assemble(("?", "bold yellow"), " ", (event.tool, "cyan"))
        self._print(Group(head, *given, *remarks, Text(f"  {sentence}", style="dim")))

    def _print_block(self, block: str) -> None:
        if block.strip():
            self._print(ChatMarkdown(block))
        self._printed.append(block)

    def _print(self, content: RenderableType) -> None:
        """Print, after an empty line unless this is the first."""
        if self._begun:
            self._live.console.print()
        self._begun = True
        self._live.console.print(content)


def _complaint(sentence: str, note: str) -> RenderableType:
    lines: list[RenderableType] = [Text(printable(sentence), style="red")]
    if note:
        lines.append(Padding(Text(printable(note), style="dim"), (0, 0, 0, 2)))
    return Group(*lines)
