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
        deepest: the most of our frames that stood on each other.
    """

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.deepest = 0

    def note(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note a call; a coroutine that goes on counts as one too."""
        code = frame.f_code
        # Comprehensions, lambdas and modules have names in angle brackets.
        if event != "call" or code.co_name.startswith("<") or not is_ours(frame):
            return
        self.calls[code.co_filename, code.co_qualname] += 1
        self.deepest = max(self.deepest, depth_of(frame))

    def write(self, path: Path) -> None:
        """Write what was noted, and forget it."""
        calls = [
            [Path(file).relative_to(ROOT).as_posix(), name, count]
            for (file, name), count in self.calls.items()
        ]
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps({"calls": calls, "deepest": self.deepest}))
        unfinished.rename(path)
        self.calls.clear()
        self.deepest = 0


def is_ours(frame: FrameType) -> bool:
    """Whether the code of a frame is in our files."""
    return frame.f_code.co_filename.startswith(OURS)


def depth_of(frame: FrameType) -> int:
    """Of our frames with names: those that stand below a frame, and itself."""
    depth, below = 0, frame
    while True:
        if is_ours(below) and not below.f_code.co_name.startswith("<"):
            depth += 1
        if below.f_back is None:
            return depth
        below = below.f_back


if __name__ == "__main__":
    recorder = Recorder()
    recording = Path(os.environ.pop("RECORDING"))
    signal.signal(signal.SIGUSR1, lambda _signal, _frame: recorder.write(recording))
    threading.setprofile(recorder.note)
    sys.setprofile(recorder.note)
    main()
