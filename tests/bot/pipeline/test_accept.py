"""The way in: durable first, then the worker is told; duplicates are recognised, and the worker is
told again."""

from __future__ import annotations

import pytest

from bot.agent.loop import Agent
from bot.channels import InboundEvent
from bot.errors import StoreUnavailable
from bot.pipeline.accept import Intake
from bot.pipeline.services import make_services
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Message, Text
from tests.bot.store.turns import leased
from tests.fakes.tools import Echo, tool_map


def intake_of(store: Store, started: list[str], metrics: Metrics | None = None) -> Intake:
    """An intake that lists the conversations which it starts."""
    metrics = metrics or Metrics()
    agent = Agent(Scripted([]), tool_map(Echo()), "", metrics)

    def start(conversation: str, _author: str) -> None:
        started.append(conversation)

    return Intake(make_services(store, agent, {}, load(), metrics, start=start))


def event(message_id: str) -> InboundEvent:
    return InboundEvent(Message(message_id, "user", (Text("hi"),), 1))


async def test_a_message_is_durable_and_its_worker_is_told(store: Store) -> None:
    """After the call the conversation is due, and a worker has been told."""
    started, metrics = list[str](), Metrics()
    assert await intake_of(store, started, metrics)("console:a", event("m1"))
    assert await store.leases.due(10) == ["console:a"]
    assert started == ["console:a"]
    assert 'kaiwa_messages_accepted_total{channel="console"} 1.0' in metrics.exposition().decode()


async def test_a_duplicate_is_not_taken_twice_but_its_worker_is_told(store: Store) -> None:
    """The process that took the first copy may have died before its worker began."""
    started: list[str] = []
    intake = intake_of(store, started)
    assert [await intake("console:a", event("m1")), await intake("console:a", event("m1"))] == [
        True,
        False,
    ]
    assert started == ["console:a"] * 2


async def test_a_closed_door_takes_nothing(store: Store) -> None:
    """At shutdown the platform must send again: nothing is kept, nothing started."""
    started: list[str] = []
    intake = intake_of(store, started)
    intake.closed = True
    with pytest.raises(StoreUnavailable, match="shutting down"):
        await intake("console:a", event("m1"))
    assert (await store.leases.due(10), started) == ([], [])


async def test_whoever_holds_the_lease_is_not_told(store: Store) -> None:
    """A conversation whose lease is held is looked at again before it is left: the message waits
    there."""
    started: list[str] = []
    lease = await leased(store, "console:a")
    assert await intake_of(store, started)("console:a", event("m1"))
    assert started == []
    assert await store.leases.release(lease)
    assert await store.leases.due(10) == ["console:a"]
