"""How much an MCP server may say, and how fast; and a program that holds a process to it.

The program runs a server, passes on its lines within the limits, and ends it, with all that it has
started, when Kaiwa closes the pipe, also by dying. The SDK's transport does neither: it gathers a
line of any length, and leaves alone what a server that has ended has started. The program leads its
process group, and needs nothing but Python.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO

# A message has so many bytes at most.
LINE_BYTES = 4 * 1024 * 1024
# A message has so many values at most: to read and check them takes a tenth of a second.
MOST_VALUES = 50_000
# A message has so many levels at most: the SDK cannot read 200.
MOST_LEVELS = 190
# A text in JSON, to the end if it has none: always linear.
TEXT = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)
BRACKET = re.compile(rb"[\[\]{}]")
# A value has about one of these.
MARKS = (b",", b"[", b"{")
# A server may send so many messages a second, each of up to PIECE bytes.
A_SECOND = 500
PIECE = 32 * 1024
# In JSON that cost as much as a message: a megabyte of empty lists takes a quarter of a second.
VALUES = 200
# Until a server whose input has ended is killed. The SDK, if it is there, has sent SIGTERM by then.
END_S = 4.0


class Pace:
    """The messages of one connection."""

    def __init__(self) -> None:
        self._began = 0.0
        self._spent = 0

    def take(self, messages: int, data: bytes) -> float:
        """The seconds to wait, so that what came in this second takes as long as it should."""
        now = time.monotonic()
        if now - self._began >= 1:
            self._began, self._spent = now, 0
        self._spent += messages + len(data) // PIECE + data.count(b",") // VALUES
        if self._spent <= A_SECOND:
            return 0
        return max(self._began + self._spent / A_SECOND - now, 0)


def has_too_many_values(message: bytes) -> bool:
    """Whether a message in JSON would take the event loop for long. Texts are one value, whatever
    is in them."""
    return _values(message) > MOST_VALUES and _values(TEXT.sub(b"", message)) > MOST_VALUES


def is_nested_too_deeply(message: bytes) -> bool:
    """Whether a message in JSON has more levels than can be read."""
    if message.count(b"[") + message.count(b"{") <= MOST_LEVELS:
        return False
    level = deepest = 0
    for bracket in BRACKET.findall(TEXT.sub(b"", message)):
        level += 1 if bracket in b"[{" else -1
        deepest = max(deepest, level)
    return deepest > MOST_LEVELS


def _values(message: bytes) -> int:
    return sum(message.count(mark) for mark in MARKS)


def main() -> None:
    # The operator has written the command.
    command = sys.argv[1:]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe)  # noqa: S603 -- as above
    assert server.stdin is not None  # noqa: S101 -- it is a pipe
    assert server.stdout is not None  # noqa: S101 -- as above
    threading.Thread(target=_feed, args=(server, server.stdin), daemon=True).start()
    try:
        with suppress(OSError):
            _pass_on(server.stdout)
    finally:
        _kill_all()


def _pass_on(output: IO[bytes]) -> None:
    """Pass on each message until the server closes its output, or says too much at once."""
    pace = Pace()
    while line := output.readline(LINE_BYTES + 1):
        if len(line) > LINE_BYTES or has_too_many_values(line) or is_nested_too_deeply(line):
            return
        time.sleep(pace.take(1, line))
        if line.startswith(b"{"):
            # Servers print other things too.
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def _feed(server: subprocess.Popen[bytes], given: IO[bytes]) -> None:
    """Give the server its input, and a moment to end by itself after it."""
    with suppress(OSError):
        while data := os.read(sys.stdin.fileno(), PIECE):
            given.write(data)
            given.flush()
    with suppress(OSError):
        given.close()
    with suppress(subprocess.TimeoutExpired):
        server.wait(END_S)
    _kill_all()


def _kill_all() -> None:
    """End the whole process group, this program with it."""
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
