"""Writes the tables of ``docs/providers.md`` from the tests: ``python -m
tests.bot.providers.conformance.table``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("test_conformance.py", "test_conformance_failures.py", "test_losses.py")

if __name__ == "__main__":
    sources = [str(HERE / name) for name in SOURCES]
    sys.exit(
        subprocess.call([sys.executable, "-m", "pytest", "--quiet", "--write-tables", *sources])
    )
