"""Processes that are forked from one that has imported what every Kaiwa imports, more than a second
of work for each of them."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

from tests.project import ROOT
from tests.waiting import until

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    [
        "tests.process.forked_process",
        "bot.cli.main",
        "bot.cli.serving",
        "bot.channels.line.channel",
        "bot.channels.slack.channel",
        "bot.providers.gemini.client",
    ]
)
FOREVER_S = 3600.0


class ForkedProcess:
    """A command of Kaiwa, with the methods and attributes of ``asyncio.subprocess.Process``.

    Args:
        arguments: of the command.
        folder: where it works.
        variables: its whole environment.
        output: where it writes, closed here; its terminal if it is one.
        ignores_interrupts: it starts with Ctrl-C ignored, as jobs in the background do.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        output: Connection,
        *,
        ignores_interrupts: bool = False,
    ) -> None:
        start = (list(arguments), str(folder), dict(variables), output, ignores_interrupts)
        self._process = FORKING.Process(target=_run_kaiwa, args=start)
        # The server of forks stays where it was started: in no folder of a test's.
        with chdir(ROOT):
            forkserver.ensure_running()
        self._process.start()
        output.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout: asyncio.StreamReader | None = None

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def end(self, seconds: float) -> int | None:
        """Wait for its end, without a loop; the exit code."""
        self._process.join(seconds)
        return self.returncode

    async def wait(self) -> int:
        await until(lambda: self.returncode is not None, FOREVER_S)
        assert self.returncode is not None
        return self.returncode


async def start_forked(
    arguments: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> ForkedProcess:
    """A process whose ``stdout`` is what it writes, its errors too."""
    output, written = FORKING.Pipe(duplex=False)
    process = ForkedProcess(arguments, folder, variables, written)
    process.stdout = reader = asyncio.StreamReader()
    pipe = os.fdopen(os.dup(output.fileno()), "rb", buffering=0)
    output.close()
    # The transport closes the pipe when all has been read.
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    return process


def _run_kaiwa(
    arguments: list[str],
    folder: str,
    variables: dict[str, str],
    output: Connection,
    ignores_interrupts: bool,
) -> None:
    """What a fork does: as if ``kaiwa`` had been started in the folder."""
    _take_for_own(output)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN if ignores_interrupts else signal.default_int_handler
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["kaiwa", *arguments]
    # The tests themselves need not import it.
    from bot.cli.main import main  # noqa: PLC0415

    main()


def _take_for_own(output: Connection) -> None:
    """Standard output and error lead there; input too, from a terminal."""
    if os.isatty(output.fileno()):
        os.login_tty(os.dup(output.fileno()))
        # Like the streams below, it stays open until the end.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    else:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    output.close()
    # The streams that were there are the server's; these stay open until the end.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
