"""Whatever workers do, and whenever they lose their leases: nothing is lost, doubled or mixed
up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from bot.errors import LeaseLost, MessagesChanged
from bot.store import (
    ARRIVAL,
    RELEASED,
    Accepted,
    Condition,
    InboxEntry,
    ReopenedTurn,
    StoredHistory,
)
from bot.store.keys import SCRIPT_KINDS, Entry, unpack
from tests.bot.store.bench import Bench
from tests.bot.store.model import KINDS, Letter, fail
from tests.bot.store.turns import key

KEEP_TURNS = 3
MOST_WAITING = 4
NOTICES = ("notice 1", "notice 2")
LATE = Entry("said", b"late")
NOT_THERE = b"arrival 3:m99not there"

message_ids = st.sampled_from([f"m{number}" for number in range(12)])
changes = st.builds(
    lambda event, target: b'{"event":"%b","target":"%b"}' % (event, target.encode()),
    st.sampled_from([b"edited", b"unsent"]),
    message_ids,
)
payloads = st.binary(max_size=20) | changes
conditions = st.builds(Condition, st.lists(message_ids, max_size=3), st.booleans())
lives = st.sampled_from([60_000, 90_000])
waits = st.sampled_from([None, 0, 30_000, 600_000])
counts = st.integers(0, MOST_WAITING)
reasons = st.sampled_from(["KeyError", "ValueError"])

holding = precondition(lambda self: self.lease)
under_way = precondition(lambda self: self.lease and self.model.turn)


class Workers(Bench):
    """Workers on one conversation of a real store: one may hold its lease, others have lost theirs
    unawares."""

    @precondition(lambda self: len(self.model.inbox) < MOST_WAITING)
    @rule(message_id=message_ids, payload=payloads, kind=st.sampled_from(KINDS))
    def accept(self, message_id: str, payload: bytes, kind: str) -> None:
        body = message_id.encode() + payload
        accepted, now = self.timed(self.store.inbox.accept(self.here, message_id, body, kind))
        if message_id in self.model.taken_in:
            assert accepted is Accepted.DUPLICATE
            return
        assert accepted is (Accepted.LEASED if self.model.held else Accepted.NEW)
        self.model.accept(message_id, Entry(kind, body), now)

    @precondition(lambda self: not self.model.held)
    @rule(ttl_ms=lives)
    def acquire(self, ttl_ms: int) -> None:
        lease, now = self.timed(self.store.leases.acquire(self.here, ttl_ms))
        assert lease.token != self.model.token
        self.lease = lease
        self.model.acquire(lease.token, now.later(ttl_ms))

    @precondition(lambda self: not self.model.held)
    @rule(ttl_ms=lives)
    def take_what_is_due(self, ttl_ms: int) -> None:
        """What is due is taken, and its turn begun unless a delivery comes first."""
        turn_id = self.fresh("turn").decode()
        opened, now = self.timed(self.store.journal.open(self.here, turn_id, KEEP_TURNS, ttl_ms))
        if self.model.due is None:
            assert opened is None
            return
        self.lease = opened.lease
        self.model.acquire(opened.lease.token, now.later(ttl_ms))
        assert opened.delivery == next(iter(self.model.outbox), None)
        expected = None if opened.delivery else self.model.begin(turn_id, now)
        history = StoredHistory(self.model.summary, self.model.history)
        assert opened.turn == (expected and replace(expected, history=history))

    @precondition(lambda self: not self.model.held)
    @rule(message_id=message_ids, payload=payloads, ttl_ms=lives)
    def take_up(self, message_id: str, payload: bytes, ttl_ms: int) -> None:
        """What happens most: a rule of its own, as everything else happens after it."""
        self.accept(message_id, payload, ARRIVAL)
        self.acquire(ttl_ms)
        self.begin()

    @holding
    @rule()
    def renew(self) -> None:
        assert self.lease is not None
        assert self.timed(self.store.leases.acquire(self.here))[0] is None
        _, now = self.held(self.store.leases.renew)
        self.model.renew(now.later(self.lease.ttl_ms))

    @holding
    @rule(wait=waits, known=counts)
    def release(self, wait: int | None, known: int) -> None:
        retry_at = None if wait is None else self.clock() + wait
        waiting, now = self.held(self.store.leases.release, retry_at, known)
        assert waiting is self.model.release(now, retry_at, known)
        self.lose()

    @precondition(lambda self: self.model.held)
    @rule()
    def expire(self) -> None:
        self.redis.pexpire(key("lease", self.here), 0)
        self.model.held = False
        self.lose()

    @holding
    @rule()
    def crash(self) -> None:
        self.lease = None

    @precondition(lambda self: self.lost)
    @rule(data=st.data())
    def come_too_late(self, data: st.DataObject) -> None:
        """Whoever has lost a lease can do nothing at all."""
        lease, store = data.draw(st.sampled_from(self.lost), "lease"), self.store
        waiting = frames(self.waiting())
        for doing in (
            store.leases.renew(lease),
            store.leases.release(lease),
            store.journal.begin(lease, "late"),
            store.journal.join(lease, waiting),
            store.journal.give_back(lease, 1),
            store.journal.record(lease, "said", b"late", sends=b"late", answers=waiting),
            store.journal.dismiss(lease, NOT_THERE, b"late"),
            store.journal.fail(lease, "late", 0),
            store.journal.commit(lease, b"late", [b"late"], KEEP_TURNS, "late"),
            store.journal.reopen(lease, "late", ReopenedTurn(b"", [LATE], 0, True), [], b"late"),
            store.outbox.replace_head(lease, b"late"),
            store.outbox.remove_head(lease),
            store.outbox.move_head_to_dead_letters(lease, b"late"),
            store.outbox.split_head(lease, [b"late"]),
            store.history.summarise(lease, b"late"),
            store.history.rewrite(lease, dict.fromkeys(self.model.history or [b"none"], b"late")),
            store.history.purge(lease),
            store.history.erase(lease, whole=True),
            store.journal.withdraw(lease, [NOT_THERE], []),
        ):
            with pytest.raises(LeaseLost):
                self.runner.run(doing)

    @precondition(lambda self: self.lease and (self.model.inbox or self.model.turn))
    @rule()
    def begin(self) -> None:
        turn_id = self.fresh("turn").decode()
        turn, now = self.held(self.store.journal.begin, turn_id)
        assert turn == self.model.begin(turn_id, now)

    @precondition(lambda self: self.lease and self.model.turn and not self.model.turn.has_steps)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(self.turn().entries)), "of the journal")
        self.held(self.store.journal.give_back, count)
        self.model.give_back(count)

    @under_way
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        joining = self.some_that_wait(data)
        self.held(self.store.journal.join, [*frames(joining), NOT_THERE])
        self.model.join(entries(joining))

    @holding
    @rule(data=st.data(), sends=st.booleans())
    def record(self, data: st.DataObject, sends: bool) -> None:
        """Where no turn is under way any more, all but the step itself."""
        step, delivery = self.fresh("step"), self.fresh("delivery") if sends else b""
        answered = self.some_that_wait(data)
        record = partial(
            self.store.journal.record, sends=delivery, answers=[*frames(answered), NOT_THERE]
        )
        waiting, _ = self.held(record, "said", step)
        assert waiting == self.model.record(Entry("said", step), delivery, entries(answered))

    @precondition(lambda self: self.lease and self.model.inbox)
    @rule(data=st.data())
    def dismiss(self, data: st.DataObject) -> None:
        delivery, answered = self.fresh("delivery"), self.some_that_wait(data)[:1]
        self.held(self.store.journal.dismiss, *(frames(answered) or [NOT_THERE]), delivery)
        self.model.dismiss(delivery, entries(answered))

    @under_way
    @rule(reason=reasons, rest_ms=st.sampled_from([0, 60_000]))
    def fail(self, reason: str, rest_ms: int) -> None:
        (times, retry_at), now = self.held(self.store.journal.fail, reason, rest_ms)
        turn = self.turn()
        assert times == fail(turn, reason)
        assert now.later(rest_ms << (times - 1)).has(retry_at)
        turn.retry_at = retry_at

    @under_way
    @rule(
        has_entry=st.booleans(),
        count=st.integers(0, 2),
        given_up=st.sampled_from(["", "poison"]),
        unless=conditions,
    )
    def commit(self, has_entry: bool, count: int, given_up: str, unless: Condition) -> None:
        """Not while a change waits of what is answered."""
        entry = self.fresh("entry") if has_entry else None
        deliveries = [self.fresh("delivery") for _ in range(count)]
        commit = partial(self.store.journal.commit, given_up=given_up, unless=unless)
        if self.model.is_changed(list(unless.message_ids), only_unsent=unless.only_unsent):
            with pytest.raises(MessagesChanged):
                self.held(commit, entry, deliveries, KEEP_TURNS)
            self.model.refuse()
            return
        is_whole, _ = self.held(commit, entry, deliveries, KEEP_TURNS)
        assert is_whole is (not deliveries or not self.model.outbox)
        self.model.commit(self.turn(), entry, deliveries, KEEP_TURNS, given_up)

    @precondition(
        lambda self: (
            self.lease and self.model.history and not (self.model.turn and self.turn().has_steps)
        )
    )
    @rule(data=st.data(), is_summarised=st.booleans(), sends=st.booleans())
    def reopen(self, data: st.DataObject, *, is_summarised: bool, sends: bool) -> None:
        """What had been taken in since waits for the turn that goes on."""
        waiting = st.sampled_from(self.model.outbox) if self.model.outbox else st.nothing()
        undelivered = data.draw(st.lists(waiting, unique=True), "of the outbox")
        record = data.draw(st.sampled_from(self.model.history), "of the history")
        journal = [Entry("said", self.fresh("step"))]
        reopened = ReopenedTurn(record, journal, len(self.model.journal), is_summarised)
        new_id, delivery = self.fresh("turn").decode(), self.fresh("delivery") if sends else b""
        self.held(self.store.journal.reopen, new_id, reopened, undelivered, delivery)
        self.model.reopen(new_id, reopened, undelivered, delivery)

    @precondition(lambda self: len(self.model.posted) < len(NOTICES))
    @rule(notice_id=st.sampled_from(NOTICES))
    def post(self, notice_id: str) -> None:
        """Also where somebody has the lease, who finds it in the outbox or leaves the conversation
        due."""
        notice = self.fresh("notice")
        posted, now = self.timed(self.store.outbox.post(self.here, notice_id, notice))
        assert posted is self.model.post(notice_id, notice, now)

    @precondition(lambda self: self.lease and self.model.outbox)
    @rule(fate=st.sampled_from(["replace", "split", "remove", "bury"]))
    def deliver(self, fate: str) -> None:
        attempt, outbox = self.fresh("attempt"), self.store.outbox
        if fate == "replace":
            self.held(outbox.replace_head, attempt)
            self.model.outbox[0] = attempt
            return
        if fate == "split":
            self.model.outbox[:1] = [attempt, self.fresh("rest")]
            assert self.held(outbox.split_head, self.model.outbox[:2])[0] == attempt
            return
        done, now = (
            self.held(outbox.remove_head)
            if fate == "remove"
            else self.held(outbox.move_head_to_dead_letters, b"refused")
        )
        gone, *following = self.model.outbox
        self.model.outbox = following
        if fate == "remove" and not self.model.has_work:
            assert done == RELEASED
            self.model.release(now, None, 0)
            self.lose()
            return
        assert done == next(iter(following), None)
        if fate == "bury":
            self.model.dead.append(Letter("refused", gone))

    @precondition(lambda self: self.model.dead)
    @rule(data=st.data(), is_renewed=st.booleans())
    def revive(self, data: st.DataObject, is_renewed: bool) -> None:
        place = data.draw(st.integers(0, len(self.model.dead) - 1), "letter")
        letter = self.letters()[place]
        delivery = self.fresh("delivery") if is_renewed else b""
        done, now = self.timed(self.store.dead_letters.revive(letter, delivery))
        assert done is True
        self.model.revive(self.model.dead[place], delivery, now)
        assert self.timed(self.store.dead_letters.revive(letter, delivery))[0] is False

    @precondition(lambda self: self.lease and self.model.history)
    @rule(data=st.data())
    def rewrite(self, data: st.DataObject) -> None:
        old = data.draw(st.lists(st.sampled_from(self.model.history), unique=True), "old")
        changes = {
            entry: self.fresh("entry") if data.draw(st.booleans(), "kept") else b"" for entry in old
        }
        stale = data.draw(st.booleans(), "stale")
        self.held(
            partial(self.store.history.rewrite, stale=stale), changes | {b"not there": b"nor this"}
        )
        self.model.rewrite(changes, stale=stale)

    @precondition(lambda self: self.lease)
    @rule()
    def summarise(self) -> None:
        self.model.summary = self.fresh("summary")
        self.held(self.store.history.summarise, self.model.summary)

    @precondition(lambda self: self.lease and (self.model.history or self.model.outbox))
    @rule()
    def purge(self) -> None:
        self.held(self.store.history.purge)
        self.model.history, self.model.summary = [], b""

    @precondition(lambda self: self.lease and (self.model.history or self.model.outbox))
    @rule(sends=st.booleans())
    def erase(self, *, sends: bool) -> None:
        left = [self.fresh("back")] if sends else []
        self.held(partial(self.store.history.erase, whole=False), left)
        self.model.history, self.model.summary, self.model.outbox = [], b"", left

    @invariant()
    def the_store_is_as_it_should_be(self) -> None:
        """All that there is to see is asked for at once."""
        model, names = self.model, [key(kind, self.here) for kind in SCRIPT_KINDS]
        with self.redis.pipeline(transaction=False) as pipe:
            for kind in ("inbox", "journal", "history", "outbox"):
                pipe.lrange(key(kind, self.here), 0, -1)
            pipe.get(key("summary", self.here))
            pipe.zscore(key("due", self.here), self.here)
            pipe.xrange(key("dead", self.here))
            for name in names:
                pipe.pttl(name)
            inbox, journal, history, outbox, summary, due, dead, *lives = pipe.execute()
        assert [unpack(frame) for frame in inbox] == model.inbox
        assert [unpack(frame) for frame in journal] == model.journal
        assert (history, outbox, summary or b"") == (model.history, model.outbox, model.summary)
        self.whoever_has_work_is_found_in_time(due)
        assert [
            name for name, life in zip(names, lives, strict=True) if life == -1
        ] == []  # all goes away one day
        self.what_is_given_up_is_stored(dead)

    def whoever_has_work_is_found_in_time(self, due: float | None) -> None:
        model = self.model
        assert (due is None) is (model.due is None)
        if due is not None and model.due is not None:
            assert model.due.has(due)
            assert not model.held or due <= model.ends.end
        assert due is not None or not (model.has_work or model.held)

    def what_is_given_up_is_stored(self, frames: object) -> None:
        if frames != self.frames_of_letters:
            self.stored, self.frames_of_letters = self.letters(), frames
        assert [(letter.reason, letter.delivery, letter.arrivals) for letter in self.stored] == [
            (letter.reason, letter.delivery, tuple(entry.body for entry in letter.entries))
            for letter in self.model.dead
        ]

    @invariant()
    def everything_taken_in_is_somewhere(self) -> None:
        assert sorted(self.model.stored) == sorted(self.model.taken_in.values())


def frames(waiting: Sequence[InboxEntry]) -> list[bytes]:
    return [one.frame for one in waiting]


def entries(waiting: Sequence[InboxEntry]) -> list[Entry]:
    return [Entry(one.kind, one.body) for one in waiting]


def test_nothing_is_lost_doubled_or_mixed(valkey_url: str) -> None:
    """The store agrees with a plain model after every step of random histories, the same ones each
    time."""
    machine = type("Machine", (Workers,), {"url": valkey_url})
    short = settings(
        max_examples=50, stateful_step_count=60, deadline=None, derandomize=True, database=None
    )
    run_state_machine_as_test(machine, settings=short)
