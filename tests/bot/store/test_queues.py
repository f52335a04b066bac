"""Requests sent together: each asker has its own answer, and a store that is away is away for
all."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ResponseError

from bot.store.clients import connect
from bot.store.cluster import Slots
from bot.store.server import MAX_BATCH, Batches, Request
from tests.waiting import until


class Listing:
    """Answers each batch at once, and lists the first words of its commands."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []

    async def __call__(self, batch: list[Request]) -> None:
        self.sent.append([words[0] for request in batch for words in request.commands])
        for request in batch:
            request.results.set_result([])


class Server:
    """Answers each request with its own first word, batch by batch, when it is let."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, batch: list[Request]) -> None:
        self.batches.append(len(batch))
        await self.open.wait()
        for request in batch:
            if not request.results.done():
                request.results.set_result([words[0] for words in request.commands])


async def test_what_comes_in_at_once_leaves_together() -> None:
    """And what comes in meanwhile with the next batch, up to its size."""
    server = Server()
    batches = Batches(server, 1, 5)
    server.open.clear()
    first = [batches.submit([(number,)]) for number in range(3)]
    await asyncio.sleep(0.01)
    later = [batches.submit([(number,)]) for number in range(3, MAX_BATCH + 5)]
    server.open.set()
    assert await asyncio.gather(*first, *later) == [[number] for number in range(MAX_BATCH + 5)]
    assert server.batches == [3, MAX_BATCH, 2]


async def test_what_can_wait_leaves_with_the_next_batch_in_order() -> None:
    """Behind what was asked before it, ahead of what is asked after it; at the end it leaves
    too."""
    listing = Listing()
    batches = Batches(listing, 1, 5)
    asked = [
        batches.submit([("one",)]),
        batches.submit_later([("two",)]),
        batches.submit([("three",)]),
        batches.submit_later([("four",)]),
    ]
    await asyncio.gather(*asked)
    last = batches.submit_later([("five",)])
    await batches.aclose()
    assert last.done()
    assert listing.sent == [["one", "two", "three", "four"], ["five"]]


async def test_what_is_made_just_before_a_batch_leads_it() -> None:
    """It is called once, also where what waits fills more than a batch; without another request
    after a while."""
    listing = Listing()
    batches = Batches(listing, 1, 5)
    asked = [batches.submit([("asked",)]) for _ in range(MAX_BATCH + 1)]
    batches.before_next(lambda: [][0])  # an error is logged
    batches.before_next(lambda: asked.append(batches.submit_later([("made",)])))
    await asyncio.gather(*asked)
    await asked[-1]
    assert listing.sent == [["made", *["asked"] * (MAX_BATCH - 1)], ["asked", "asked"]]


async def test_the_time_of_what_waits_begins_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What left with a batch has no wait left that would end that of the next."""
    monkeypatch.setattr("bot.store.server.LATER_S", 0.2)
    server, made = Server(), list[str]()
    batches, clock = Batches(server, 1, 5), asyncio.get_running_loop()
    batches.before_next(lambda: made.append("first"))
    await asyncio.sleep(0.1)
    await batches.submit([("asked",)])
    assert made == ["first"]
    began = clock.time()
    await batches.submit_later([("alone",)])
    assert clock.time() - began > 0.15
    batches.before_next(lambda: made.append("second"))
    await until(lambda: made == ["first", "second"])


async def test_what_can_wait_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another request it leaves by itself."""
    monkeypatch.setattr("bot.store.server.LATER_S", 0.01)
    server = Server()
    assert await Batches(server, 1, 5).submit_later([("alone",)]) == ["alone"]


async def test_what_can_wait_does_not_fail_with_others() -> None:
    """It leaves when the store has let a batch down."""
    server = Server()
    server.open.clear()
    batches = Batches(server, 1, 0.05)
    first = batches.submit([("first",)])
    await asyncio.sleep(0.01)
    later = batches.submit_later([("later",)])
    with pytest.raises(TimeoutError):
        await first
    server.open.set()
    assert await batches.submit([("second",)]) == ["second"]
    assert await later == ["later"]
    assert server.batches == [1, 2]


async def test_what_can_wait_leaves_as_soon_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its time is over while the only place is taken."""
    monkeypatch.setattr("bot.store.server.LATER_S", 0.01)
    server = Server()
    server.open.clear()
    batches = Batches(server, 1, 5)
    first = batches.submit([("first",)])
    await asyncio.sleep(0)
    later = batches.submit_later([("later",)])
    await asyncio.sleep(0.05)
    server.open.set()
    assert [await first, await later] == [["first"], ["later"]]


async def test_requests_of_one_asker_stay_together() -> None:
    """However many they are: their order is part of what is asked."""
    server = Server()
    batches = Batches(server, 1, 5)
    asked = [(number,) for number in range(MAX_BATCH * 2)]
    assert await batches.submit(asked) == list(range(MAX_BATCH * 2))
    assert server.batches == [1]


async def test_who_does_not_wait_any_more_is_not_asked_for() -> None:
    """A request that is cancelled before it leaves never leaves."""
    server = Server()
    batches = Batches(server, 1, 5)
    gone, stays = batches.submit([("gone",)]), batches.submit([("stays",)])
    gone.cancel()
    assert await stays == ["stays"]
    assert server.batches == [1]


async def test_a_store_that_does_not_answer_is_away_for_those_who_wait_too() -> None:
    """They fail at once; a later request is tried by itself."""
    server = Server()
    server.open.clear()
    batches = Batches(server, 1, 0.05)
    first = batches.submit([("first",)])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = batches.submit([("second",)])
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [TimeoutError] * 2
    assert server.batches == [1]
    server.open.set()
    assert await batches.submit([("third",)]) == ["third"]


async def test_closing_ends_what_is_under_way() -> None:
    """Waiting requests fail, and so do those that come afterwards."""
    server = Server()
    server.open.clear()
    batches = Batches(server, 1, 5)
    asked = batches.submit([("first",)])
    await asyncio.sleep(0)
    await batches.aclose()
    with pytest.raises(ConnectionError):
        await asked
    for late in (batches.submit([("second",)]), batches.submit_later([("third",)])):
        with pytest.raises(ConnectionError):
            await late
    assert server.batches == []


async def test_a_refusal_is_its_askers_alone(store_url: str) -> None:
    """One asks nonsense, one asks what cannot be sent, one asks twice with one refusal; the others
    are answered."""
    client = connect(store_url, 1)
    try:
        asked = [
            client.execute_command("ECHO", "a"),
            client.execute_command("NONSENSE"),
            client.execute_command("ECHO", object()),
            client.submit([("ECHO", "b"), ("NONSENSE",), ("ECHO", "c")]),
            client.submit([("ECHO", "d"), ("ECHO", "e")]),
            client.submit([]),
        ]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await client.aclose()
    assert isinstance(answers[1], ResponseError)
    assert isinstance(answers[2], TypeError)
    assert isinstance(answers[3], ResponseError)
    assert [answers[0], *answers[4:]] == [b"a", [b"d", b"e"], []]


async def test_a_batch_of_nothing_that_can_be_sent_leaves_the_next_alone(store_url: str) -> None:
    """Its connection has never been opened."""
    client = connect(store_url, 1)
    try:
        with pytest.raises(TypeError):
            await client.execute_command("ECHO", object())
        assert await client.execute_command("ECHO", "a") == b"a"
    finally:
        await client.aclose()


async def test_a_queue_for_places_moves_on() -> None:
    """First come, first served; who gives up loses nobody their place."""
    slots, order, gate = Slots(1, 5), list[int](), asyncio.Event()

    async def visit(number: int) -> None:
        async with slots.slot():
            order.append(number)
            await gate.wait()

    visits = [asyncio.create_task(visit(number)) for number in range(4)]
    await asyncio.sleep(0)
    visits[1].cancel()
    gate.set()
    await asyncio.gather(*visits, return_exceptions=True)
    assert order == [0, 2, 3]
    await visit(5)


async def test_a_place_that_is_handed_to_who_leaves_is_not_lost() -> None:
    """Cancelled in the very moment it is their turn."""
    slots = Slots(1, 5)
    begun = asyncio.Event()

    async def visit() -> None:
        async with slots.slot():
            begun.set()

    async with slots.slot():
        late = asyncio.create_task(visit())
        await asyncio.sleep(0)
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    async with asyncio.timeout(10):
        await visit()


async def test_a_place_that_nobody_answers_sends_the_queue_away() -> None:
    """What is away for one is away for those behind."""
    slots = Slots(1, 0.05)

    async def visit() -> None:
        async with slots.slot():
            await asyncio.Event().wait()

    outcomes = await asyncio.gather(visit(), visit(), visit(), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [TimeoutError] * 3
