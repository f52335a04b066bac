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
        pytest.skip(
            _reason(
                what
                or f"what only adds to tests/facts, from {'specs' if '..' in parts else parts[0]}"
            )
        )
    return path


def _reason(what: str) -> str:
    return (
        f"{what}: the vendors' recorded traffic and specifications are not part of the repository"
    )
