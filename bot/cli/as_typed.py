"""Commands in printed texts, as they can be typed here: ``make`` puts them into ``.venv/bin``,
where no shell looks."""

from __future__ import annotations

import re
import shlex
import shutil
import sysconfig
from pathlib import Path

COMMAND = re.compile(
    r"(?<![\w/-])kaiwa(?= (?:setup|run|worker|chat|mcp|tools|outbox|usage|feedback|trace"
    r"|conversations|gaps|acts|report|eval|backup|restore|doctor)\b)"
)


def as_typed(text: str) -> str:
    """The text, with what runs Kaiwa here in the place of ``kaiwa``."""
    typed = program("kaiwa")
    return text if typed == "kaiwa" else COMMAND.sub(lambda _: typed, text)


def program(name: str) -> str:
    """What runs a program of Kaiwa's environment: its name where the shell finds it, else its path,
    from here if below.

    A name that is not installed there stays as it is.
    """
    path = Path(sysconfig.get_path("scripts")) / name
    found = shutil.which(name)
    if not path.is_file() or (found and Path(found).samefile(path)):
        return name
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
