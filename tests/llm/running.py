"""Starts ``tests/llm/server.py`` and says where it listens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.project import ROOT, environment

MODEL = "smollm2"
CONTEXT = 4096  # tokens
WITH_TOOLS = Path(__file__).with_name("chatml_with_tools.jinja")


@contextmanager
def llama(template: Path | None = None, port: int = 0, *, wait: bool = True) -> Iterator[str]:
    """The base URL of a server in a process of its own.

    Args:
        template: a chat template in the place of the model's own.
        port: 0 for any that is free.
        wait: until the model is loaded.
    """
    command = [
        sys.executable,
        "-m",
        "tests.llm.server",
        str(port),
        *([str(template)] if template else []),
    ]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip() if wait else f"http://127.0.0.1:{port}"
        finally:
            process.stdin.close()
            process.wait(30)
