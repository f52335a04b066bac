"""``kaiwa run`` beside a set-up, until a first message is answered."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from bot.checks import CheckResult
from bot.cli.prepare import print_report
from bot.cli.setup.answers import Answers, GivenUp, say

COMMAND = (sys.executable, "-P", "-c", "from bot.cli.main import main; main()", "run")
# Whatever .env says: one process whose log has the lines that are waited for.
VARIABLES = {"KAIWA_PROCESSES": "1", "LOG_LEVEL": "INFO"}
ADDRESS = re.compile(r"answers at (http://\S+)/ ")
PATIENCE_S = 600.0
# A signal that comes just before a wait begins, or in another thread, does not end the wait.
LOOK_S = 0.5
STOP_S = 30.0
HELLO = "hello"

Event = Mapping[str, Any]


class RunningKaiwa:
    """A ``kaiwa run`` and what it prints."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._last = ""
        self.address = ""
        # It reads all the time: a full pipe would stop the process.
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 -- for the types alone
        for line in self._process.stdout:
            self._lines.put(line.rstrip())
        self._lines.put(None)

    def wait_for_address(self) -> bool:
        """Wait until it serves; false if it has ended, and has said why."""
        while (line := self._next_line()) is not None:
            if match := ADDRESS.search(line):
                self.address = match[1]
                return True
            if line.startswith("kaiwa: "):
                self._last = line.removeprefix("kaiwa: ")
        self._fail("Kaiwa", f"does not start: {self._last or 'it has ended'}")
        return False

    def wait_for_hello(self, channel: str, patience_s: float = PATIENCE_S) -> bool:
        """Wait until a message of this channel is answered; false if it cannot be.

        Args:
            channel: the first word of its conversations' ids.
        """
        deadline = time.monotonic() + patience_s
        asked, known = "", set[str]()
        while True:
            try:
                line = self._next_line(deadline)
            except Empty:
                fix = "do what is listed above, and run it again"
                return self._fail(HELLO, f"nothing came in {patience_s:g} s", fix)
            if line is None:
                return self._fail("Kaiwa", "has ended")
            event = _event_of(line)
            if asked and event.get("event") == "delivery.sent" and _place_of(event) == asked:
                print_report([CheckResult("ok", HELLO, "has come, and is answered")])
                return True
            if not _is_of(event, channel):
                continue
            if event["event"] == "turn.answered" and event.get("messages"):
                asked = _place_of(event)
            elif event["event"] in ("turn.apologised", "delivery.failed"):
                return self._fail(HELLO, f"is not answered: {event.get('cause')}")
            elif (trouble := _trouble_of(event)) and trouble.detail not in known:
                known.add(trouble.detail)
                print_report([trouble])

    def _next_line(self, deadline: float = math.inf) -> str | None:
        """What it prints next; nothing after its end.

        Raises:
            Empty: the deadline has passed.
        """
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                return self._lines.get(timeout=min(left, LOOK_S))
            except Empty:
                if left <= LOOK_S:
                    raise

    def _fail(self, name: str, detail: str, fix: str = "kaiwa doctor says more") -> bool:
        print_report([CheckResult("failure", name, detail, fix)])
        return False


@contextmanager
def running(answers: Answers) -> Iterator[RunningKaiwa]:
    """Kaiwa as ``.env`` says, while the context is open.

    Raises:
        GivenUp: it does not start, and nobody is there to mend it.
    """
    while True:
        say("Starting Kaiwa …")
        with _started() as kaiwa:
            if kaiwa.wait_for_address():
                print_report([CheckResult("ok", "Kaiwa", f"runs at {kaiwa.address}/")])
                yield kaiwa
                return
        if not answers.is_terminal:
            raise GivenUp
        answers.choose("Press Enter to try again, Ctrl-C to end: ")


@contextmanager
def _started() -> Iterator[RunningKaiwa]:
    with subprocess.Popen(  # noqa: S603 -- the command is this program
        COMMAND,
        env=os.environ | VARIABLES,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            yield RunningKaiwa(process)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _event_of(line: str) -> Event:
    """A line of the log; empty for any other."""
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) and "event" in event else {}


def _place_of(event: Event) -> str:
    return str(event.get("conversation", ""))


def _is_of(event: Event, channel: str) -> bool:
    places = _place_of(event).partition(":")[0], event.get("platform"), event.get("channel")
    return bool(event) and (channel in places or str(event["event"]).startswith(f"{channel}."))


def _trouble_of(event: Event) -> CheckResult | None:
    """What the operator can mend while Kaiwa goes on waiting."""
    if event["event"] == "webhook.refused":
        detail = "a request came that the platform has not signed, or not with this secret"
        fix = f"if it was your {HELLO}: {event.get('fix')} Press Ctrl-C, and give it again"
        return CheckResult("warning", HELLO, detail, fix)
    if event["event"] in ("delivery.postponed", "platform.away", "slack.socket_refused"):
        return CheckResult("warning", HELLO, f"{event['event']}: {event.get('cause')}")
    return None
