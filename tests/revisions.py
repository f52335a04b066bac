"""Earlier versions of Kaiwa, out of the project's own history."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from tests.project import ROOT

PREVIOUS = "154561d011920d5a43d77d06837daad78a4a7bc8"  # what runs while this version is deployed
PACKAGES = ("bot", "toolset", "schemas")


def is_known(revision: str) -> bool:
    """Whether this clone has the revision; a shallow one has not."""
    found = subprocess.run(["git", "cat-file", "-e", f"{revision}^{{commit}}"], cwd=ROOT, capture_output=True)
    return found.returncode == 0


def unpack(revision: str, folder: Path, *extra: str) -> Path:
    """The packages of a revision, and whatever else of it is named, in a folder."""
    command = ["git", "archive", "--format=tar", revision, *PACKAGES, *extra]
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder
