"""A ``redis-server`` of a test's own: its data is on disk, so that it may be killed and started
again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry


class RedisServer:
    """Loses nothing it has acknowledged.

    Attributes:
        url: of its socket, the same after every start.
    """

    def __init__(self, folder: Path) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            pytest.skip("redis-server is not installed")
        self._folder = folder
        self._socket = folder / "redis.sock"
        options = {
            "--port": "0",
            "--unixsocket": str(self._socket),
            "--save": "",
            "--appendfsync": "always",
        }
        self._command = [binary, "--appendonly", "yes", *chain.from_iterable(options.items())]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{self._socket}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=subprocess.DEVNULL)
        patience = Retry(ConstantBackoff(0.02), 500)
        with Redis(unix_socket_path=str(self._socket), retry=patience) as redis:
            redis.ping()

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """Running; gone afterwards."""
    folder.mkdir()
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
