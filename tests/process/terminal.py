"""A command on a terminal, and ``kaiwa chat`` between two pipes."""

from __future__ import annotations

import asyncio
import pty
import re
import signal
import sys
import termios
from multiprocessing.connection import Connection
from pathlib import Path

from pexpect import EOF
from pexpect.fdpexpect import fdspawn

from tests.fakes.terminal import TerminalFake
from tests.process.forked_process import ForkedProcess
from tests.process.kaiwa_process import ENTRY

WIDTH, HEIGHT = 100, 40
PATIENCE_S = 30
CTRL_C, CTRL_D, ARROW_UP = "\x03", "\x04", "\x1b[A"
PROMPT = re.escape("\x1b[1;36m›\x1b[0m ")  # as it is drawn; what is typed is echoed behind it


class Terminal:
    """A terminal with a command in it.

    Args:
        command: of Kaiwa.
        width: in columns; what is wider is a mistake.
        ignores_interrupts: Ctrl-C is ignored by who opens it, as by jobs in the background.
    """

    def __init__(
        self,
        variables: dict[str, str],
        *arguments: str,
        command: str = "chat",
        width: int = WIDTH,
        ignores_interrupts: bool = False,
    ) -> None:
        self._glass = TerminalFake(width, HEIGHT)
        window, inside = pty.openpty()
        termios.tcsetwinsize(window, (HEIGHT, width))
        folder = Path(variables["KAIWA_DATA_DIR"]).parent
        self._process = ForkedProcess(
            [command, *arguments],
            folder,
            variables,
            Connection(inside),
            ignores_interrupts=ignores_interrupts,
        )
        self._window = fdspawn(window, encoding="utf-8", timeout=PATIENCE_S)
        self._window.logfile_read = self._glass

    @property
    def text(self) -> str:
        """What can be read on it, the prompt included."""
        return self._glass.text

    @property
    def newest(self) -> str:
        """What can be read between the last two prompts: a message, then what it brought."""
        return re.split("^›", self.text, flags=re.MULTILINE)[-2].removeprefix(" ")

    def see(self, pattern: str) -> None:
        """Wait until something is drawn."""
        self._window.expect(pattern)

    def type(self, keys: str) -> None:
        """Press keys."""
        self._window.send(keys)

    def say(self, text: str) -> str:
        """Type a message; what can be read when the prompt is back."""
        self.type(f"{text}\r")
        self.see(PROMPT)
        return self.newest

    def kill(self, number: signal.Signals) -> int | None:
        """Send a signal; the exit code."""
        self._process.send_signal(number)
        return self.ended()

    def leave(self, key: str = CTRL_D) -> int | None:
        """Press a key at the prompt; the exit code."""
        self.type(key)
        return self.ended()

    def ended(self) -> int | None:
        """Wait for the end; the exit code."""
        self._window.expect(EOF)
        return self._process.end(PATIENCE_S)

    def close(self) -> None:
        """Close the window, whatever runs in it."""
        self._window.close()
        if self._process.end(PATIENCE_S) is None:
            self._process.kill()


async def piped(variables: dict[str, str], entry: str = ENTRY) -> asyncio.subprocess.Process:
    """``kaiwa chat`` between two pipes."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", entry, "chat", env=variables, stdin=pipe, stdout=pipe, stderr=pipe
    )
