"""Processes of an earlier version of Kaiwa beside those of this one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from tests.process.kaiwa_process import KaiwaProcess, kaiwa

# The command has moved once.
ENTRY = """
import bot, os
assert bot.__file__.startswith(os.environ["PYTHONPATH"])
try:
    from bot.cli.main import main
except ModuleNotFoundError:
    from bot.cli import main
main()
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """Starts processes of either version in one folder, with the same settings."""

    earlier: Path
    folder: Path
    variables: Mapping[str, str]

    def old(self, *arguments: str, **options: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """The earlier version."""
        packages = {"PYTHONPATH": str(self.earlier)}
        return kaiwa(self.folder, *arguments, entry=ENTRY, **self.variables, **packages, **options)

    def new(self, *arguments: str, **options: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """This version."""
        return kaiwa(self.folder, *arguments, entry=ENTRY, **self.variables, **options)
