"""One conversation of a real store beside its model, and who holds its lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize
from redis import Redis

from bot.clock import DAY_S
from bot.store import DeadLetter, InboxEntry, Lease, Store, open_store
from bot.store.clients import Scripts, connect
from tests.bot.store.model import Model, Span, Turn

LETTERS = 100


class Bench(RuleBasedStateMachine):
    """A machine without rules.

    Attributes:
        lease: of the holder, who may know by now that it is lost.
        lost: leases whose holders do not know that they are.
        stored: the dead letters, as they were read when their frames last changed.
    """

    url: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.opened = open_store(self.url, history_days=1)
        self.store: Store = self.runner.run(self.opened.__aenter__())
        self.client = connect(self.url, 2)
        self.scripts = Scripts(self.client, DAY_S)
        self.redis = Redis.from_url(self.url)
        self.redis.flushall()
        self.here = f"console:{uuid4().hex}"
        self.model = Model()
        self.lease: Lease | None = None
        self.lost: list[Lease] = []
        self.count = 0
        self.stored: list[DeadLetter] = []
        self.frames_of_letters: object = []

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.redis.close()
            self.runner.run(self.client.aclose())
            self.runner.run(self.opened.__aexit__(None, None, None))
            self.runner.close()

    def fresh(self, what: str) -> bytes:
        self.count += 1
        return f"{what} {self.count}".encode()

    def clock(self) -> int:
        """The server's: it is this machine's."""
        return time.time_ns() // 1_000_000

    def timed(self, doing: Coroutine[Any, Any, Any]) -> tuple[Any, Span]:
        """What comes of it, and when it was done."""
        start = self.clock()
        done = self.runner.run(doing)
        return done, Span(start, self.clock())

    def held(
        self, operation: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any
    ) -> tuple[Any, Span]:
        """The same, done by the holder of the lease."""
        return self.timed(operation(self.lease, *arguments))

    def turn(self) -> Turn:
        assert self.model.turn is not None
        return self.model.turn

    def lose(self) -> None:
        """Who was the holder still believes to be."""
        if self.lease:
            self.lost.append(self.lease)
        self.lease = None

    def waiting(self) -> list[InboxEntry]:
        """What the inbox holds."""
        return self.runner.run(self.store.inbox.read(self.here))

    def some_that_wait(self, data: st.DataObject) -> list[InboxEntry]:
        """Any of it, in any order."""
        if not self.model.inbox:
            return []
        return data.draw(st.lists(st.sampled_from(self.waiting()), unique=True), "of the inbox")

    def letters(self) -> list[DeadLetter]:
        """The conversation's dead letters, oldest first."""
        letters = self.runner.run(self.store.dead_letters.read(LETTERS))
        own = [letter for letter in letters if letter.conversation == self.here]
        return sorted(own, key=lambda letter: [int(half) for half in letter.id.split("-")])
