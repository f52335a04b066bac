"""Recorded traffic beside the project; a test that needs it is skipped where it is absent."""

from __future__ import annotations

from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / ".." / "shared" / "recorded"


def recorded(*parts: str) -> Path:
    """A file or folder of the recordings."""
    path = RECORDED.joinpath(*parts)
    if not path.exists():
        pytest.skip("the vendors' recorded traffic is not part of the repository")
    return path
