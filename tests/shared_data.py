"""Recorded traffic beside the project; a test that needs it is skipped where it is absent.

What a stranger's clone must prove without it stands as facts in ``tests/facts``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / ".." / "shared" / "recorded"


def recorded(*parts: str, what: str = "") -> Path:
    """A file or folder of the recordings.

    Args:
        what: what is skipped where it is absent.
    """
    path = RECORDED.joinpath(*parts)
    if not path.exists():
        what = what or f"what needs {'/'.join(part for part in parts if part != '..')} itself"
        pytest.skip(f"{what}: the vendors' recorded traffic and specifications are not part of the repository")
    return path
