"""What happens while a summary is written: nobody waits for it, and it tells of nothing that has
changed."""

from __future__ import annotations

import asyncio

import pytest

from bot.pipeline.history import SUMMARY
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Summary, encode
from tests.bot.features.summaries.summarising import NOTES, Summarising, noted, noting, talk
from tests.bot.harness import HERE
from tests.bot.pipeline.long_talks import LONG, sent
from tests.bot.store.turns import leased
from tests.waiting import until


async def begun(store: Store, gate: asyncio.Event) -> Summarising:
    """A summary is being written until the gate opens."""
    harness = Summarising(store, [Step("1"), Step("2"), Step("3"), Step(NOTES, gate=gate)])
    await noting(harness, gate)
    return harness


async def test_nobody_waits_for_a_summary(store: Store) -> None:
    """What comes in meanwhile is answered at once; the summary begins the turn after it."""
    gate = asyncio.Event()
    steps = [Step("1"), Step("2"), Step("3"), Step(NOTES, gate=gate), Step("4"), Step("5")]
    harness = Summarising(store, steps)
    await noting(harness, gate)
    await harness.receive("four", "m3")
    await harness.runner.process(HERE)
    assert harness.box.texts == ["1", "2", "3", "4"]
    assert len(harness.notes.writing) == 1
    assert await noted(harness, gate) == NOTES
    await talk(harness, "five")
    assert sent(harness) == [SUMMARY + NOTES, f"three {LONG}", "3", "four", "4", "five"]


@pytest.mark.parametrize("word", ["/reset", "/forget me"])
async def test_what_is_forgotten_meanwhile_comes_back_in_no_summary(
    store: Store, word: str
) -> None:
    """It was written of words that are gone."""
    gate = asyncio.Event()
    harness = await begun(store, gate)
    await harness.receive(word, "m3")
    await harness.runner.process(HERE)
    assert await noted(harness, gate) == ""


async def test_of_two_summaries_the_first_is_kept(store: Store) -> None:
    """Two processes had a turn each."""
    gate = asyncio.Event()
    harness = await begun(store, gate)
    lease = await leased(store, HERE)
    await store.history.summarise(lease, encode(Summary("a turn", 1, "scripted", "Another's.")))
    await store.leases.release(lease)
    assert await noted(harness, gate) == "Another's."


async def test_a_summary_waits_for_the_turn_under_way(store: Store) -> None:
    """It is put in its place when the lease is free."""
    gate = asyncio.Event()
    harness = await begun(store, gate)
    lease = await leased(store, HERE)
    gate.set()
    await until(lambda: b'outcome="summary"} 1.0' in harness.metrics.exposition())
    await store.leases.release(lease)
    assert await noted(harness, gate) == NOTES


async def test_a_process_that_ends_gives_a_summary_up(store: Store) -> None:
    """At once; whoever has the next turn writes it."""
    gate = asyncio.Event()
    harness = await begun(store, gate)
    await harness.notes.aclose()
    assert await noted(harness, gate) == ""
    assert harness.notes.writing == {}
