"""``kaiwa run`` that notes which of our functions run.

SIGUSR1 begins a recording, and ends the one before it by writing it to the file that the variable
RECORDING names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from bot.cli.main import main
from tests.project import ROOT

OURS = (f"{ROOT}/bot/", f"{ROOT}/toolset/", f"{ROOT}/schemas/")


class Recorder:
    """Counts calls of our functions, by file and name, and measures how deep they stand.

    Attributes:
        deepest: the most of our frames that stood on each other, by file and name.
    """

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.deepest: list[tuple[str, str]] = []

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note a call; a coroutine that goes on counts as one too."""
        code = frame.f_code
        # Comprehensions, lambdas and modules have names in angle brackets.
        if event != "call" or code.co_name.startswith("<") or not is_ours(frame):
            return
        self.calls[code.co_filename, code.co_qualname] += 1
        standing = names_below(frame)
        if len(standing) > len(self.deepest):
            self.deepest = standing

    def write(self, path: Path) -> None:
        """Write what was noted, and forget it."""
        calls = [[shortened(file), name, count] for (file, name), count in self.calls.items()]
        deepest = [[shortened(file), name] for file, name in self.deepest]
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps({"calls": calls, "deepest": deepest}))
        unfinished.rename(path)
        self.calls.clear()
        self.deepest = []


def is_ours(frame: FrameType) -> bool:
    """Whether the code of a frame is in our files."""
    return frame.f_code.co_filename.startswith(OURS)


def names_below(frame: FrameType) -> list[tuple[str, str]]:
    """Our frames with names, by file: a frame and those that stand below it, the lowest first."""
    names, below = [], frame
    while True:
        code = below.f_code
        if is_ours(below) and not code.co_name.startswith("<"):
            names.append((code.co_filename, code.co_qualname))
        if below.f_back is None:
            return names[::-1]
        below = below.f_back


def shortened(file: str) -> str:
    """The path of a file of ours, from the root of the project."""
    return Path(file).relative_to(ROOT).as_posix()


if __name__ == "__main__":
    recorder = Recorder()
    recording = Path(os.environ.pop("RECORDING"))
    signal.signal(signal.SIGUSR1, lambda _signal, _frame: recorder.write(recording))
    threading.setprofile(recorder.note)
    sys.setprofile(recorder.note)
    main()
