"""What is typed: lines with editing, and with what was said before under the arrow keys."""

from __future__ import annotations

import sys
import termios
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress

PROMPT = "› "
COLOURED = "\001\x1b[1;36m\002›\001\x1b[0m\002 "  # readline must not count what is between \001 and \002
LOCAL_MODES = 3  # their place in what tcgetattr gives


def typed(said: Iterable[str]) -> Generator[str]:
    """The lines typed at this terminal, until Ctrl-C or Ctrl-D.

    Args:
        said: earlier lines, oldest first.
    """
    edits = _begin_editing(said)
    prompt = COLOURED if edits else PROMPT
    # A terminal that gathers lines would swallow Ctrl-D; without editing nobody else knows what Ctrl-D means.
    modes = termios.ECHO | termios.ICANON if edits else termios.ECHO
    while True:
        try:
            line = input(prompt)
        except (EOFError, KeyboardInterrupt):
            print()
            return
        with _without(modes):
            yield line


def forget_typed() -> None:
    """Throw away what was typed and has not been read."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _begin_editing(said: Iterable[str]) -> bool:
    try:
        import readline  # noqa: PLC0415 -- there are Pythons without it, and importing it changes what input() does
    except ImportError:
        return False
    for line in said:
        readline.add_history(line)
    return True


@contextmanager
def _without(modes: int) -> Iterator[None]:
    """What is typed while an answer is drawn waits for the next prompt, and does not get into the drawing."""
    before = termios.tcgetattr(sys.stdin)
    quiet = [*before]
    quiet[LOCAL_MODES] &= ~modes
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
