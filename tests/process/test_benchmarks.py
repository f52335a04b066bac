"""The benchmarks of whole processes run: a few turns of each, and their tables have a row for
everything measured."""

from __future__ import annotations

from benchmarks.cost.__main__ import CHANNELS, Kind, asked, beside, bots, compare
from benchmarks.growth.__main__ import forgetting, with_conversations, with_history, with_tools
from benchmarks.growth.memory import Memory, measure_memory
from benchmarks.peers.__main__ import beside as beside_peers
from benchmarks.peers.__main__ import safety
from benchmarks.peers.install import CHANNELS as PEER_CHANNELS
from benchmarks.peers.install import own, pins
from benchmarks.peers.kept import kept
from benchmarks.scale import DERIVED, MEASURED, PLANNED, STORES, measure, planned

TURNS = 2


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table of markdown, without its head."""
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


async def test_costs_of_every_bot_and_channel_are_compared() -> None:
    """LINE, Slack and the page are answered by each bot, and nothing that was counted is missing
    from the tables."""
    costs = await compare(TURNS, at_once=2, rounds=1, with_tool=[True])
    kinds = [Kind(channel, with_tool=True, at_once=2) for channel in CHANNELS]
    assert {(name, kind) for name, kind in costs if kind.at_once == 2} == {
        (bot, kind) for bot in bots() for kind in kinds
    }
    assert all(
        min(cost.cpu_ms, cost.requests, cost.sent, cost.received, cost.redis_ms) > 0
        for cost in costs.values()
    )
    assert [row[0] for row in rows_of(beside(costs, kinds))] == [str(kind) for kind in kinds]
    assert len(rows_of(asked(costs, kinds))) == 2 * len(kinds)


async def test_growth_is_measured_with_whole_processes() -> None:
    """Seeded histories and tools are read by Kaiwa, which answers; a longer history is more to
    read."""
    short, long = await with_history(TURNS, sizes=(1, 40))
    assert int(long[5].replace(",", "")) > int(short[5].replace(",", ""))
    [[tools, *_]] = await with_tools(TURNS, sizes=(1,))
    assert tools == "1 tools besides Kaiwa's own"
    [[conversations, *_]] = await with_conversations(TURNS, sizes=(3,))
    assert conversations == "3 conversations in the store"
    assert [row[0] for row in await forgetting(sizes=(3,))] == ["3 conversations in the store"]


async def test_memory_is_measured_with_turns_in_flight() -> None:
    """All of them wait for the model at once, and each is answered once; long conversations need
    more of the store."""
    memory = await measure_memory(in_flight=4, before=2, people=2)
    assert (memory.people, memory.in_flight) == (4, 4)
    assert memory.flight_mb > 0
    assert 0 < memory.store_kb[1] < memory.store_kb[2]


async def test_scale_is_measured_on_a_cluster() -> None:
    """Two processes share the turns; every table has the row."""
    memory = Memory(4, 4, 100, 120, 0.0, (2, 30, 120), 101)
    *_, (name, opened) = STORES.items()
    scaled = await measure(name, opened, processes=2, turns=4, at_once=2, rounds=1)
    assert len(scaled.measured()) == len(MEASURED)
    assert len(scaled.derived()) == len(DERIVED)
    assert len(planned(10_000, scaled, memory)) == len(PLANNED)


async def test_peers_are_compared_on_the_same_webhooks() -> None:
    """What needs no other installation: Kaiwa and the naive bot answer in LINE and in Slack."""
    costs = await compare(TURNS, at_once=2, rounds=1, with_tool=[True], beside=own())
    rows = rows_of(beside_peers(costs, at_once=2))
    assert [row[0] for row in rows] == [
        f"{Kind(channel, with_tool=True, at_once=1)}: {name}"
        for channel in PEER_CHANNELS
        for name in own()
    ]
    assert all(pin.split()[1][0].isdigit() for pin in pins())


async def test_what_a_kill_loses_is_counted() -> None:
    """Kaiwa answers everybody once; the naive bot only whom the platform asks for again, and those
    twice whom it had answered."""
    kaiwa = await kept(own()["Kaiwa"], "LINE", people=2)
    assert (kaiwa.answered, kaiwa.again, kaiwa.cut_twice, kaiwa.twice) == (2, 2, 0, 0)
    naive = await kept(own()["naive"], "Slack", people=2, patience_s=1)
    assert (naive.answered, naive.again, naive.cut_twice, naive.twice) == (0, 2, 0, 2)
    assert len(rows_of(safety({("Kaiwa", "LINE"): kaiwa, ("naive", "Slack"): naive}, 2))) == 2
