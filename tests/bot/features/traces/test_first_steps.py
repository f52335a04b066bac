"""Steps that are not kept at once: before the key of the digests is known, and what fails."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from bot.errors import StoreUnavailable
from bot.features.traces.reading import find_turns
from bot.features.traces.store import Traces
from bot.store import Store, open_store
from bot.telemetry.observed import OBSERVER, EventTaken, RequestSent
from tests.bot.features.traces.test_trouble import WORDS, kept, sent
from tests.bot.harness import HERE, Harness, words
from tests.process.redis_server import RedisServer
from tests.waiting import until_true


@pytest.fixture
def traces(store: Store) -> Traces:
    return Traces(store, 7)


async def test_a_turn_is_observed_before_the_key_of_the_digests_is_known(
    store: Store, traces: Traces
) -> None:
    """As the first one of a process is."""
    harness = Harness(store, [])
    harness.runner.services.features.start_observing(HERE, "turn_1")
    observe = OBSERVER.get()
    assert observe is not None
    observe(EventTaken(words("m1", "hello"), "message", "answered"))
    await store.scripts.ask("PING")
    observe(RequestSent("gemini", (b"{}",)))
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert [fact.kind for fact in turn.first.facts] == ["event", "request"]


async def test_the_key_of_the_digests_is_asked_for_until_the_store_answers(tmp_path: Path) -> None:
    """The steps of turns wait for it."""
    server = RedisServer(tmp_path)
    server.start()
    try:
        async with open_store(server.url, history_days=1) as store:
            traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
            observe = harness.runner.services.features.observe
            server.kill()
            observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
            with pytest.raises(StoreUnavailable):
                await store.scripts.ask("PING")
            server.start()
            observe(HERE, "turn_1", RequestSent("gemini", (b"{}",)))
            await until_true(lambda: kept(traces, "event", "request"), 20)
            await harness.runner.services.features.aclose()
    finally:
        server.kill()


async def test_a_step_that_cannot_be_kept_is_logged(store: Store, traces: Traces) -> None:
    """The turn goes on, and so does its trace."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "turn_1", EventTaken(words("m1", "hello"), "message", "answered"))
    await sent(harness)
    with capture_logs() as logs:
        observe(HERE, "turn_1", RequestSent("gemini", cast(tuple[bytes, ...], (None,))))
    assert [(one["event"], one["step"]) for one in logs] == [("observer.failed", "RequestSent")]
    observe(HERE, "turn_1", RequestSent("gemini", (b"{}",)))
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert [fact.kind for fact in turn.first.facts] == ["event", "request"]
