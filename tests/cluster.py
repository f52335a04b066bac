"""A Redis Cluster of real servers on this machine."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import Redis
from redis.backoff import ConstantBackoff
from redis.crc import key_slot
from redis.exceptions import ConnectionError as Away
from redis.retry import Retry

from tests.ports import free_port

SLOTS = 16_384


class Node:
    """One server.

    Args:
        fsync: when it syncs what it has written down (``appendfsync``).

    Attributes:
        redis: speaks to this server alone.
    """

    def __init__(self, binary: str, folder: Path, fsync: str = "always") -> None:
        self.port, bus_port = free_port(), free_port()
        self.redis = Redis(
            port=self.port, retry=Retry(ConstantBackoff(0.02), 500, supported_errors=(Away,))
        )
        self._folder = folder
        self._command = [
            *(
                binary,
                "--bind",
                "127.0.0.1",
                "--port",
                str(self.port),
                "--cluster-port",
                str(bus_port),
            ),
            *(
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "5000",
                "--cluster-require-full-coverage",
                "no",
            ),
            *("--save", "", "--appendonly", "yes", "--appendfsync", fsync),
        ]
        self.bus_port = bus_port
        self.start()

    def start(self) -> None:
        """Start it, or start it again with what it has written down."""
        self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=subprocess.DEVNULL)
        self.redis.ping()

    def kill(self) -> None:
        """It is gone without a word, and all its connections."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Gone for good."""
        self.redis.close()
        self.kill()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It neither answers nor ends."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @property
    def id(self) -> str:
        return str(self.redis.cluster("MYID"), "ascii")

    def clients(self) -> int:
        """How many connections of ours it has, this one not counted."""
        own = self.redis.client_id()
        return sum(int(client["id"]) != own for client in self.redis.client_list())


class Cluster:
    """Some servers that share the slots."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        share = -(-SLOTS // len(nodes))
        for epoch, node in enumerate(nodes, start=1):
            node.redis.cluster("SET-CONFIG-EPOCH", epoch)
            node.redis.cluster("ADDSLOTSRANGE", (epoch - 1) * share, min(epoch * share, SLOTS) - 1)
            node.redis.cluster("MEET", "127.0.0.1", nodes[0].port, nodes[0].bus_port)
        self.agree()

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.nodes[0].port}"

    def node_of(self, key: str) -> Node:
        """The server that has a key's slot."""
        slot = key_slot(key.encode())
        shares = self.nodes[0].redis.cluster("SLOTS")
        (port,) = [owner[1] for first, last, owner, *_ in shares if first <= slot <= last]
        (node,) = [node for node in self.nodes if node.port == port]
        return node

    def move_slot(self, key: str, target: Node) -> None:
        """Move a key's slot, with all its keys, to another server."""
        slot, source = key_slot(key.encode()), self.node_of(key)
        target.redis.cluster("SETSLOT", slot, "IMPORTING", source.id)
        source.redis.cluster("SETSLOT", slot, "MIGRATING", target.id)
        while keys := source.redis.cluster("GETKEYSINSLOT", slot, 100):
            source.redis.migrate("127.0.0.1", target.port, keys, 0, 5_000)
        for node in (target, *self.nodes):
            node.redis.cluster("SETSLOT", slot, "NODE", target.id)
        self.agree()

    def take_over(self, key: str, source: Node, heir: Node) -> None:
        """A server gets another's slot, without its keys and without its word."""
        for node in self.nodes:
            if node is not source:
                node.redis.cluster("SETSLOT", key_slot(key.encode()), "NODE", heir.id)
        heir.redis.cluster("BUMPEPOCH")

    @contextmanager
    def away(self) -> Iterator[None]:
        """All servers are gone for a while; what they have written down comes back with them."""
        for node in self.nodes:
            node.kill()
        try:
            yield
        finally:
            for node in self.nodes:
                node.start()

    def flush(self) -> None:
        """Empty it."""
        for node in self.nodes:
            node.redis.flushall()

    def agree(self) -> None:
        """Wait until all of them know all of them, and who has which slot."""
        deadline = time.monotonic() + 10
        while (
            len(views := {self._view(node) for node in self.nodes}) != 1 or "ok" not in views.pop()
        ):
            assert time.monotonic() < deadline, "the cluster did not come together"
            time.sleep(0.02)

    def _view(self, node: Node) -> tuple[str, ...]:
        info, shares = node.redis.cluster("INFO"), node.redis.cluster("SLOTS")
        return (
            info["cluster_state"],
            info["cluster_current_epoch"],
            *sorted(str(share[:3]) for share in shares),
        )


@contextmanager
def running(count: int, binary: str | None = None, fsync: str = "always") -> Iterator[Cluster]:
    """A cluster of so many servers, gone afterwards.

    Args:
        binary: of the servers; ``redis-server`` by default.
    """
    binary = binary or shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed")
    with ExitStack() as stack:
        nodes = []
        for _ in range(count):
            node = Node(binary, Path(stack.enter_context(TemporaryDirectory())), fsync)
            stack.callback(node.close)
            nodes.append(node)
        yield Cluster(nodes)
