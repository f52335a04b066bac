"""Which features a piece of code enters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tests.project import ROOT


@contextmanager
def entered() -> Iterator[set[str]]:
    """The folders of features of which a function runs meanwhile."""
    folders, features = set[str](), ROOT / "bot/features"

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(features):
            folders.add(path.relative_to(features).parts[0])

    sys.setprofile(note)
    try:
        yield folders
    finally:
        sys.setprofile(None)
