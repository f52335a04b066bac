"""docs/conversations.md holds no scene that nobody plays."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.transcript import DOCUMENT


def test_every_scene_is_played() -> None:
    """Each is compared by one test."""
    scenes = re.findall(r"^<!-- (.+) -->$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    tests = "".join(
        path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*_transcripts.py")
    )
    assert sorted(scenes) == sorted(re.findall(r'compare\("(.+?)"', tests))
