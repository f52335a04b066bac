"""Where the project is, and which files belong to it."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
AUTHORITY = Path(__file__).with_name("nobody.pem")  # has signed nothing


NOWHERE = "http://127.0.0.1:1"  # nobody listens
# Only tests of the second weather service have a stand-in for it; elsewhere the first one is alone.
NO_OPEN_METEO = {"OPEN_METEO_BASE_URL": NOWHERE, "OPEN_METEO_GEOCODING_BASE_URL": NOWHERE}


def files(*patterns: str) -> list[Path]:
    """What git tracks, or would after ``git add``, below the root; patterns are git's own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [ROOT / name for name in sorted(listed.split("\0")) if name and (ROOT / name).is_file()]


def environment(**variables: str) -> dict[str, str]:
    """What a process of ours starts with: nothing of the developer's."""
    ours = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "SSL_CERT_FILE": str(AUTHORITY)}
    return {"PATH": "/usr/bin:/bin", **ours, **NO_OPEN_METEO, **variables}


def name_of(path: Path) -> str:
    """The path as a reader of the repository knows it."""
    return path.relative_to(ROOT).as_posix()
