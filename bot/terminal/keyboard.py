"""Lines typed at the terminal, with editing, and earlier ones under the arrow keys; or a pipe's."""

from __future__ import annotations

import asyncio
import sys
import termios
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from threading import Thread

PROMPT = "\x1b[1;36m›\x1b[0m "
# readline must not count what is between \001 and \002.
COUNTED_PROMPT = "\001\x1b[1;36m\002›\001\x1b[0m\002 "
ERASE_LINE = "\r\x1b[K"
LOCAL_MODES = 3  # their index in the list of tcgetattr


class Keyboard:
    """The line that is typed; a thread reads it, so that what comes meanwhile can be shown."""

    def __init__(self) -> None:
        self._modes = termios.tcgetattr(sys.stdin)
        self._is_reading = False
        # There are Pythons without it, and importing it changes what input() does.
        self._editor = import_module("readline") if find_spec("readline") else None

    def remember(self, lines: Iterable[str]) -> None:
        """Have these lines under the arrow keys, oldest first."""
        if self._editor is not None:
            for line in lines:
                self._editor.add_history(line)

    async def read_line(self) -> str | None:
        """The next line; None at Ctrl-D. Until the next call, keys wait for it, unseen."""
        self._set_modes(0)
        self._is_reading = True
        try:
            return await _in_thread(self._input)
        finally:
            self._is_reading = False
            print(flush=True)
            # With readline, a terminal in line mode would swallow Ctrl-D; without, only the
            # terminal understands it.
            self._set_modes(termios.ECHO | (termios.ICANON if self._editor else 0))

    def close(self) -> None:
        """Leave the terminal as it was found."""
        self._set_modes(0)

    def discard_typeahead(self) -> None:
        """Throw away what was typed and not yet read."""
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    @contextmanager
    def above(self) -> Iterator[None]:
        """While the context is open, the line that is being typed is out of the way."""
        if self._is_reading:
            print(ERASE_LINE, end="", flush=True)
        yield
        if self._is_reading:
            typed = self._editor.get_line_buffer() if self._editor is not None else ""
            print(f"{PROMPT}{typed}", end="", flush=True)

    def _set_modes(self, without: int) -> None:
        """Set the terminal's modes as they were found, without some of the local ones."""
        modes = [*self._modes]
        modes[LOCAL_MODES] &= ~without
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(sys.stdin, termios.TCSANOW, modes)

    def _input(self) -> str | None:
        try:
            return input(COUNTED_PROMPT if self._editor else PROMPT)
        except (EOFError, OSError):
            return None


async def read_piped_line() -> str | None:
    """The next line of standard input; None at its end."""
    return await _in_thread(lambda: sys.stdin.readline() or None)


async def _in_thread(read: Callable[[], str | None]) -> str | None:
    """Call a function in a thread that does not hold up the end of the process."""
    line: Future[str | None] = Future()
    line.set_running_or_notify_cancel()
    Thread(target=lambda: line.set_result(read()), daemon=True).start()
    return await asyncio.wrap_future(line)
