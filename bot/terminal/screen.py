"""The screen of ``kaiwa chat``: a terminal, where an answer grows in place, or two pipes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from bot import live_events as live
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import Button
from bot.terminal import printable
from bot.terminal.keyboard import Keyboard
from bot.terminal.markdown import ChatMarkdown
from bot.transcript import encode
from toolset.shown import row_text

MARGIN = 3  # lines of the terminal that the growing text leaves free
RARELY = 10  # drawing takes at most every tenth part of the time
SHORT = 600  # characters of a call, a result or an earlier answer: more does not fit on a line
ENDLESS = 1_000_000  # columns of a pipe, where no line is wrapped
TURNING, PICTURE_S = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", 0.08  # a sign of life, and how long each picture is shown


class Screen:
    """Shows a conversation; in a pipe the answers go to stdout, and all else to stderr.

    Args:
        labels: the catalogue's ``terminal`` texts, by key.
        keyboard: where somebody types.
    """

    def __init__(
        self, labels: Mapping[str, str], keyboard: Keyboard | None, out: Console | None = None
    ) -> None:
        self._labels = labels
        self._keyboard = keyboard
        self._out = out or Console(highlight=False)
        pipe = Console(stderr=True, highlight=False, width=ENDLESS)
        self._notes = self._out if self._out.is_terminal else pipe
        self._last_was_call = False
        self._live: Live | None = None
        self._text = ""  # of the answer, which grows
        self._calls: dict[str, str] = {}  # those that run, by their ids
        self._draw_at = 0.0

    def say(self, key: str, **values: str) -> None:
        """Show a sentence of the catalogue."""
        self.notice(self._labels[key].format(**values))

    def notice(self, sentence: str) -> None:
        """Show a sentence of Kaiwa itself, beside the conversation."""
        self._print(Text(printable(sentence), "dim"))

    def failure(self, error: BadInput | StoreUnavailable) -> None:
        """Show why nothing was sent."""
        if isinstance(error, BadInput):
            self._fail(str(error))
        else:
            self._fail(self._labels["store_away"], str(error))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While the context is open, an answer grows."""
        # Transient: what grows is erased, and printed when it is whole. No automatic refresh: a
        # second drawing thread would now and then erase lines of the first.
        self._live = Live(
            console=self._out, get_renderable=self._growing, transient=True, auto_refresh=False
        )
        with self._live:
            try:
                yield
            finally:
                calls, self._calls = self._calls, {}
                self._flush()
                for call in calls.values():
                    self._print(Text(f"… {call}", "cyan"), is_call=True)
        self._live = None

    def tick(self) -> None:
        """Draw what grows."""
        begin = time.monotonic()
        if self._live is not None and begin >= self._draw_at:
            self._live.refresh()
            end = time.monotonic()
            # Each time the whole text is parsed, so a long one is drawn less often.
            self._draw_at = end + RARELY * (end - begin)

    def draw(self, event: live.LiveEvent) -> None:
        """Draw one event of a turn, or what comes by itself."""
        match event:
            case live.AnswerText(text):
                self._text += printable(text)
            case live.AnswerRestarted() | live.TurnStarted():
                self._text, self._calls = "", {}
            case live.ToolStarted():
                self._flush()
                self._calls[event.call_id] = call_text(event)
            case live.ToolFinished():
                self._finish_call(event)
            case live.Noticed(text):
                self.notice(text)
            case live.CardShown(until=0):
                self.notice(card_text(event, self._labels["press"]))
            case live.CardShown():
                self._ask(event)
            case live.Answered(_, text, True, note):
                self._flush()
                self._fail(text, note)
            case live.Answered(_, text):
                self._text = printable(text)
                self._flush(printable(beside_text(event)))

    def _ask(self, card: live.CardShown) -> None:
        """Draw a card that waits for a decision, in the place of its call, which has not been
        made."""
        self._calls.pop(card.call_id, None)
        self._flush()
        (_, first), *rows = card.rows
        how = self._labels["question"].format(time=clock_time(card.until))
        lines = ["", *(value for _, value in rows), *filter(None, card.note.split("\n")), how]
        shown = printable("\n  ".join(lines))
        self._print(Text.assemble(("? ", "bold yellow"), (first, "cyan"), shown))
        if self._keyboard:  # what was typed before the question was read is no decision
            self._keyboard.discard_typeahead()

    def _fail(self, sentence: str, note: str = "") -> None:
        """Show a failure; ``note`` is cause and fix for the operator."""
        below = f"\n  {printable(note)}" if note else ""
        self._print(Text.assemble((printable(sentence), "red"), (below, "dim")))

    def _flush(self, beside: str = "") -> None:
        """Print the text as it is, with what is below it; what follows begins anew."""
        text, self._text = self._text, ""
        if self._out.is_terminal:
            if text.strip():
                self._print(ChatMarkdown(text))
            if beside:
                self._print(Text(beside.strip()))
        elif (text + beside).strip():
            self._out.out((text + beside).removesuffix("\n"), highlight=False)

    def _finish_call(self, event: live.ToolFinished) -> None:
        mark, style = (("✗ ", "red"), "red") if event.is_error else (("✓ ", "green"), "dim")
        duration = f"  {event.ms} ms"
        head = Text.assemble(mark, (self._calls.pop(event.call_id, event.name), "cyan"))
        head.truncate(self._notes.width - len(duration), overflow="ellipsis")
        result = f"  {result_text(event.response)}"
        below = Text(result, style, no_wrap=True, overflow="ellipsis")
        self._print(Group(head.append(duration, "dim"), below), is_call=True)

    def _growing(self) -> RenderableType:
        """What grows: running calls, else the end of the text, else a sign of life."""
        if self._text and not self._calls:
            return ChatMarkdown(self._text, last=max(1, self._out.height - MARGIN))
        picture = TURNING[int(time.monotonic() / PICTURE_S) % len(TURNING)]
        lines = [f"{picture} {call}" for call in self._calls.values()] or [picture]
        return Group(*(Text(line, "cyan", no_wrap=True, overflow="ellipsis") for line in lines))

    def _print(self, content: RenderableType, *, is_call: bool = False) -> None:
        """Print above the prompt, on a terminal with an empty line below; calls stand together."""
        if self._live is not None:
            self._live.refresh()  # what is printed now grows no more
        with self._keyboard.above() if self._keyboard else nullcontext():
            if self._last_was_call and not is_call:
                self._out.print()
            self._notes.print(content)
            if self._out.is_terminal and not is_call:
                self._out.print()
        self._last_was_call = is_call and self._out.is_terminal


def call_text(event: live.ToolStarted) -> str:
    """A tool call on one line: title and arguments, or as in Python where it has no title."""
    given = ", ".join(f"{key}={encode(value).decode()}" for key, value in event.arguments.items())
    if not event.title:
        return _line(f"{event.name}({given})")
    return _line(f"{event.title} · {given}" if given else event.title)


def result_text(response: dict[str, Any]) -> str:
    """A tool's result on one line; of an error, its text."""
    error = response.get("error")
    is_error = isinstance(error, str) and len(response) == 1
    return _line(str(error) if is_error else encode(response).decode())


def card_text(card: live.CardShown, how_to_press: str) -> str:
    """A card with buttons as lines: each button has its number and, if a row has its label, the
    row's value."""
    values = dict(card.rows)
    numbered = numbers_of(card.buttons)
    labels = {button.label for button in card.buttons}
    lines = [card.title]
    lines += [row_text(row) for row in card.rows if row[0] not in labels]
    for number, button in numbered.items():
        lines.append(row_text((f"{number} {button.label}", values.get(button.label, ""))))
    lines.append(card.note)
    if numbered:
        lines.append(how_to_press)
    return "\n".join(filter(None, lines))


def numbers_of(buttons: Sequence[Button]) -> dict[int, Button]:
    """The buttons by the numbers that stand for them: from 1, and 0 for the one that closes it."""
    numbered = dict(enumerate((one for one in buttons if not one.closes), 1))
    for button in buttons:
        if button.closes:
            numbered[0] = button
    return numbered


def beside_text(answer: live.Answered) -> str:
    """What is below an answer's text: files in words, cards, and buttons with numbers."""
    parts = [f"{file.text}\n{file.url}".strip() for file in answer.files]
    parts += [card.text for card in answer.cards]
    numbered = [f"{number} {one.label}" for number, one in numbers_of(answer.buttons).items()]
    if numbered:
        parts.append(f"[{' · '.join(numbered)}]")
    return "".join(f"\n\n{part}" for part in parts)


def clock_time(at: int) -> str:
    """Milliseconds since the epoch as hours and minutes of the local time."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M")


def _line(text: str) -> str:
    return shortened(" ".join(printable(text).split()))


def shortened(text: str) -> str:
    """Its beginning, where it is long."""
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"
