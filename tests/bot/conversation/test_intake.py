"""The way in: durable first, then a hint; duplicates are recognised and hinted at again."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import InboundEvent
from bot.commands import SpokenCommands
from bot.conversation.intake import Intake
from bot.errors import StoreUnavailable
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Message, Text


class Hints:
    """Remembers the jobs it was given."""

    def __init__(self) -> None:
        self.jobs: list[tuple[str, str]] = []

    async def add(self, conversation: str, key: str) -> None:
        self.jobs.append((conversation, key))


def event(message_id: str) -> InboundEvent:
    return InboundEvent(Message(message_id, "user", (Text("hi"),), 1))


async def test_a_message_is_durable_and_hinted_at(store: Store) -> None:
    """After the call the conversation is due, and a worker has been told."""
    hints, metrics = Hints(), Metrics()
    assert await Intake(store, hints, SpokenCommands(load()), metrics)("console:a", event("m1"))
    assert await store.leases.due(10) == ["console:a"]
    assert hints.jobs == [("console:a", "console:a/m1")]
    assert 'kaiwa_messages_accepted_total{channel="console"} 1.0' in metrics.exposition().decode()


async def test_a_duplicate_is_not_taken_twice_but_gets_its_hint(store: Store) -> None:
    """The process that took the first copy may have died before its hint went out."""
    hints = Hints()
    intake = Intake(store, hints, SpokenCommands(load()), Metrics())
    assert [await intake("console:a", event("m1")), await intake("console:a", event("m1"))] == [True, False]
    assert len(hints.jobs) == 2


async def test_a_closed_door_takes_nothing(store: Store) -> None:
    """At shutdown the platform must send again: nothing is kept, nothing hinted."""
    hints = Hints()
    intake = Intake(store, hints, SpokenCommands(load()), Metrics())
    intake.closed = True
    with pytest.raises(StoreUnavailable, match="shutting down"):
        await intake("console:a", event("m1"))
    assert (await store.leases.due(10), hints.jobs) == ([], [])


async def test_whoever_attends_needs_no_hint(store: Store) -> None:
    """A conversation whose lease is held is looked at again before it is left: the message waits there."""
    hints = Hints()
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    assert await Intake(store, hints, SpokenCommands(load()), Metrics())("console:a", event("m1"))
    assert hints.jobs == []
    assert await store.leases.release(lease)
    assert await store.leases.due(10) == ["console:a"]


@pytest.mark.parametrize(
    ("event", "text", "kind"),
    [
        ("message", "hi", "arrival"),
        ("message", "please /reset my router", "arrival"),
        ("message", "/reset", "aside"),
        ("message", "忘れて", "aside"),
        ("edited", "/reset", "change"),
        ("unsent", "", "change"),
        ("told", "", "aside"),
        ("left", "", "aside"),
    ],
)
async def test_words_may_join_a_turn_and_all_else_waits(store: Store, event: Any, text: str, kind: str) -> None:
    """Words and changes to them; commands and what is no question wait for the turn's end."""
    said = InboundEvent(Message("m1", "user", (Text(text),), 1), event=event, target="m0")
    await Intake(store, Hints(), SpokenCommands(load()), Metrics())("console:a", said)
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    turn = await store.journal.begin(lease, "turn_1")
    assert turn is not None
    assert [entry.kind for entry in turn.entries] == [kind]
