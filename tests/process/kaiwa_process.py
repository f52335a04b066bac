"""``kaiwa run`` as the process it is, with its data in a folder of the test's."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.process.forked_process import ForkedProcess, start_forked
from tests.project import environment
from tests.waiting import until_true

ADDRESS = r"http://[\d.]+:\d+"
WORKING = "takes turns"  # how a worker says that it is ready
ENTRY = "from bot.cli.main import main; main()"


@dataclass
class KaiwaProcess:
    """A process of Kaiwa.

    Attributes:
        token_path: where its console's token is kept, if it has made one.
        lines: what it has printed so far, log included.
        base_url: of its web server; empty for a worker.
    """

    process: asyncio.subprocess.Process | ForkedProcess
    token_path: Path
    lines: list[str] = field(default_factory=list)
    base_url: str = ""

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def browser(self, **options: Any) -> httpx.AsyncClient:
        """A client of its web server, which has the token where one is needed."""
        token = self.token_path.read_text().strip() if self.token_path.exists() else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(base_url=self.base_url, headers=headers, **options)

    async def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = 28) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def kill(self) -> None:
        """kill -9, and wait until it is dead."""
        assert await self.stop(signal.SIGKILL) == -signal.SIGKILL

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> int:
        """Post to its web server; the status of the answer."""
        async with self.browser() as http:
            return (await http.post(path, content=body, headers=headers)).status_code

    async def get(self, path: str) -> int:
        """Ask its web server; the status of the answer."""
        async with self.browser() as http:
            return (await http.get(path)).status_code

    async def say(self, conversation: str, text: str, **fields: Any) -> None:
        """Post a message as the page does."""
        async with self.browser() as http:
            posted = await http.post(
                f"/console/{conversation}/messages", json={"text": text, **fields}
            )
        assert posted.status_code == 202, posted.text

    async def history(self, conversation: str) -> list[dict[str, Any]]:
        """The committed messages, as the page gets them."""
        async with self.browser() as http:
            return await _history(http, conversation)

    async def answers(self, conversation: str, count: int, seconds: float = 20) -> list[str]:
        """The final answers, as soon as there are so many."""
        spoken: list[str] = []
        async with self.browser() as http:

            async def enough() -> bool:
                messages = await _history(http, conversation)
                final = [m["text"] for m in messages if m["role"] == "model" and not m["calls"]]
                spoken[:] = final
                return len(spoken) >= count

            await until_true(enough, seconds)
        return spoken

    async def ready(self, seconds: float) -> None:
        """Wait until ``/readyz`` says so."""
        async with self.browser() as http:

            async def is_ready() -> bool:
                return (await http.get("/readyz")).status_code == 200

            await until_true(is_ready, seconds)

    async def idle(self, seconds: float) -> None:
        """Wait until no conversation needs care."""
        async with self.browser() as http:

            async def is_idle() -> bool:
                return "\nkaiwa_queue_depth 0.0\n" in (await http.get("/metrics")).text

            await until_true(is_idle, seconds)

    def log(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one event."""
        entries = [json.loads(line) for line in self.lines if line.startswith("{")]
        return [entry for entry in entries if entry["event"] == event]


async def _history(http: httpx.AsyncClient, conversation: str) -> list[dict[str, Any]]:
    answer = await http.get(f"/console/{conversation}")
    messages: list[dict[str, Any]] = answer.json()["messages"]
    return messages


@asynccontextmanager
async def kaiwa(
    folder: Path, *arguments: str, ready: str = ADDRESS, entry: str = "", **variables: str
) -> AsyncIterator[KaiwaProcess]:
    """Start a command and wait until it says that it is ready; whatever happens, it is gone
    afterwards.

    Args:
        entry: a program for a new interpreter; by default a fork of one that has imported Kaiwa.
    """
    own = {"PORT": "0", "KAIWA_DATA_DIR": str(folder / "data")} | variables
    process: asyncio.subprocess.Process | ForkedProcess
    if entry:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            entry,
            *arguments,
            cwd=folder,
            env=environment(**own),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    else:
        process = await start_forked(arguments, folder, environment(**own))
    running = KaiwaProcess(process, Path(own["KAIWA_DATA_DIR"]) / "console_token")
    started = asyncio.Event()

    async def listen() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            running.lines.append(line.decode().rstrip())
            if not started.is_set() and (match := re.search(ready, running.lines[-1])):
                running.base_url = match[0] if match[0].startswith("http") else ""
                started.set()
        started.set()

    listening = asyncio.create_task(listen())
    try:
        async with asyncio.timeout(20):
            await started.wait()
        yield running
    finally:
        try:
            if process.returncode is None:
                await running.stop()
        finally:
            if process.returncode is None:
                process.kill()
            await listening


@dataclass
class Installation:
    """A folder of Kaiwa's, and what its processes find in their environment."""

    folder: Path
    variables: dict[str, str]

    def run(self, *options: str, **more: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """``kaiwa run``; ``more`` is for ``kaiwa`` and the environment."""
        return kaiwa(self.folder, "run", *options, **self.variables | more)

    def web(self, **more: str) -> AbstractAsyncContextManager[KaiwaProcess]:
        """``kaiwa run`` that answers nobody itself."""
        return self.run("--no-worker", **more)

    def worker(self) -> AbstractAsyncContextManager[KaiwaProcess]:
        """``kaiwa worker``."""
        return kaiwa(self.folder, "worker", ready=WORKING, **self.variables)


def left_behind(folder: Path) -> list[str]:
    """Processes that still work in a folder."""
    found = []
    for process in set(Path("/proc").glob("[0-9]*")) - {Path(f"/proc/{os.getpid()}")}:
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # gone meanwhile
            continue
    return found
