"""Lines typed at the terminal, with editing, and earlier ones under the arrow keys."""

from __future__ import annotations

import sys
import termios
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress

PROMPT = "› "
COLOURED = (
    "\001\x1b[1;36m\002›\001\x1b[0m\002 "  # readline must not count what is between \001 and \002
)
COLOUR = COLOURED.replace("\001", "").replace("\002", "")
ERASE = "\x1b[K"  # to the end of the line
LOCAL_MODES = 3  # their index in the list of tcgetattr


def read_lines(earlier: Iterable[str]) -> Generator[str]:
    """The lines typed at this terminal, until Ctrl-C or Ctrl-D.

    Args:
        earlier: lines, oldest first.
    """
    edits = _enable_editing(earlier)
    prompt = COLOURED if edits else PROMPT
    # With readline, a terminal in line mode would swallow Ctrl-D; without, only the terminal
    # understands it.
    modes = termios.ECHO | termios.ICANON if edits else termios.ECHO
    while True:
        try:
            line = input(prompt)
        except (EOFError, KeyboardInterrupt):
            print()
            return
        with _without_modes(modes):
            yield line


@contextmanager
def above_prompt() -> Iterator[None]:
    """Erase the prompt with what is typed behind it, and draw both again on exit. Another thread
    waits for the line."""
    editor = sys.modules.get("readline")
    print(f"\r{ERASE}", end="", flush=True)
    try:
        yield
    finally:
        shown = f"{COLOUR}{editor.get_line_buffer()}" if editor else PROMPT
        print(shown, end="", flush=True)


def discard_typeahead() -> None:
    """Throw away what was typed and not yet read."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _enable_editing(earlier: Iterable[str]) -> bool:
    try:
        # there are Pythons without it, and importing it changes what input() does
        import readline  # noqa: PLC0415
    except ImportError:
        return False
    for line in earlier:
        readline.add_history(line)
    return True


@contextmanager
def _without_modes(modes: int) -> Iterator[None]:
    """Switch terminal modes off: keys typed while an answer is drawn wait for the next prompt,
    unseen."""
    before = termios.tcgetattr(sys.stdin)
    changed = [*before]
    changed[LOCAL_MODES] &= ~modes
    termios.tcsetattr(sys.stdin, termios.TCSANOW, changed)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
