"""Whatever two workers do, and whenever they lose their leases: nothing is lost, doubled or mixed up."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from bot.errors import LeaseLost
from bot.store import JournalledTurn, Lease, Store, open_store
from bot.store.entries import Entry, unpack
from tests.bot.store.turns import key

KEEP_TURNS = 3
workers = st.sampled_from(["first", "second"])
message_ids = st.sampled_from([f"m{number}" for number in range(12)])


@dataclass
class Model:
    """A conversation as it should be."""

    seen: set[str] = field(default_factory=set)
    inbox: list[Entry] = field(default_factory=list)
    journal: list[Entry] = field(default_factory=list)
    turn_id: str | None = None
    starts: int = 0
    history: list[bytes] = field(default_factory=list)
    outbox: list[bytes] = field(default_factory=list)
    token: int = 0
    held: bool = False
    due: bool = False


class Workers(RuleBasedStateMachine):
    """Two workers on one conversation of a real store."""

    url: str

    @initialize()
    def open(self) -> None:
        self.runner = asyncio.Runner()
        self.opened = open_store(self.url, history_days=1)
        self.store: Store = self.runner.run(self.opened.__aenter__())
        self.redis = Redis.from_url(self.url)
        self.here = f"console:{uuid4().hex}"
        self.model = Model()
        self.leases: dict[str, Lease] = {}
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.redis.close()
            self.runner.run(self.opened.__aexit__(None, None, None))
            self.runner.close()

    def fresh(self, what: str) -> bytes:
        self.count += 1
        return f"{what} {self.count}".encode()

    def fenced(self, worker: str, operation: Any, *arguments: Any) -> tuple[bool, Any]:
        """Run it under the worker's lease: it must work exactly when that is the one that holds."""
        lease = self.leases[worker]
        holds = self.model.held and lease.token == self.model.token
        if holds:
            return True, self.runner.run(operation(lease, *arguments))
        with pytest.raises(LeaseLost):
            self.runner.run(operation(lease, *arguments))
        return False, None

    @rule(message_id=message_ids, payload=st.binary(max_size=20))
    def accept(self, message_id: str, payload: bytes) -> None:
        new = message_id not in self.model.seen
        assert bool(self.runner.run(self.store.inbox.accept(self.here, message_id, payload))) is new
        if new:
            self.model.seen.add(message_id)
            self.model.inbox.append(Entry("arrival", payload))
            self.model.due = True

    @rule(worker=workers)
    def acquire(self, worker: str) -> None:
        lease = self.runner.run(self.store.leases.acquire(self.here, 60_000))
        assert (lease is None) is self.model.held
        if lease:
            assert lease.token > self.model.token
            self.leases[worker] = lease
            self.model.token, self.model.held, self.model.due = lease.token, True, True

    @precondition(lambda self: self.model.held)
    @rule()
    def expire(self) -> None:
        self.redis.delete(key("lease", self.here))
        self.model.held = False

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        turn_id = self.fresh("turn").decode()
        holds, turn = self.fenced(self.any_worker(data), self.store.journal.begin, turn_id)
        model = self.model
        if not holds:
            return
        if model.turn_id is None and not model.inbox:
            assert turn is None
            return
        if model.turn_id is None:
            model.turn_id, model.starts = turn_id, 0
            model.journal, model.inbox = model.inbox, []
        model.starts += 1
        assert turn == JournalledTurn(model.turn_id, model.starts, model.journal)

    @precondition(lambda self: self.leases and self.model.turn_id)
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        holds, joined = self.fenced(self.any_worker(data), self.store.journal.join)
        if holds:
            assert joined == [entry.body for entry in self.model.inbox]
            self.model.journal += self.model.inbox
            self.model.inbox = []

    @precondition(lambda self: self.leases and self.model.turn_id)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        entry = self.fresh("step")
        holds, _ = self.fenced(self.any_worker(data), self.store.journal.record, "said", entry)
        if holds:
            self.model.journal.append(Entry("said", entry))
            self.model.starts = 0

    @precondition(lambda self: self.leases and self.model.turn_id)
    @rule(data=st.data(), count=st.integers(0, 2))
    def commit(self, data: st.DataObject, count: int) -> None:
        entry, deliveries = self.fresh("entry"), [self.fresh("delivery") for _ in range(count)]
        worker = self.any_worker(data)
        holds, _ = self.fenced(worker, self.store.journal.commit, entry, deliveries, KEEP_TURNS)
        if holds:
            model = self.model
            model.history = [*model.history, entry][-KEEP_TURNS:]
            model.outbox += deliveries
            model.journal, model.turn_id, model.starts = [], None, 0

    @precondition(lambda self: self.leases and self.model.outbox)
    @rule(data=st.data(), fate=st.sampled_from(["replace", "remove", "bury"]))
    def deliver(self, data: st.DataObject, fate: str) -> None:
        worker, attempt, outbox = self.any_worker(data), self.fresh("attempt"), self.store.outbox
        if fate == "replace":
            holds, _ = self.fenced(worker, outbox.replace_head, attempt)
        elif fate == "remove":
            holds, _ = self.fenced(worker, outbox.remove_head)
        else:
            holds, _ = self.fenced(worker, outbox.bury_head, b"reason")
        if holds:
            rest = self.model.outbox[1:]
            self.model.outbox = [attempt, *rest] if fate == "replace" else rest

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        holds, _ = self.fenced(self.any_worker(data), self.store.leases.release)
        if holds:
            model = self.model
            model.held = False
            model.due = bool(model.inbox or model.journal or model.outbox)

    def stored(self, kind: str) -> list[bytes]:
        return cast(list[bytes], self.redis.lrange(key(kind, self.here), 0, -1))

    def any_worker(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.leases)), "worker")

    @invariant()
    def the_store_is_as_it_should_be(self) -> None:
        model = self.model
        assert [unpack(frame) for frame in self.stored("inbox")] == model.inbox
        assert [unpack(frame) for frame in self.stored("journal")] == model.journal
        assert self.stored("history") == model.history
        assert self.stored("outbox") == model.outbox
        assert (self.redis.zscore(key("due", self.here), self.here) is not None) is model.due
        assert model.due or not (model.inbox or model.journal or model.outbox)


def test_nothing_is_lost_doubled_or_mixed(valkey_url: str) -> None:
    """The store agrees with a plain model after every step of random histories."""
    machine = type("Machine", (Workers,), {"url": valkey_url})
    short = settings(max_examples=30, stateful_step_count=30, deadline=None)
    run_state_machine_as_test(machine, settings=short)
