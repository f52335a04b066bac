"""Print the tables; see the package."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib.util import find_spec
from itertools import product, repeat
from typing import NamedTuple

import uvloop

from benchmarks.whole.bench import Bench, Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import Turn, console_turn, line_turn, naive_console_turn, slack_turn
from benchmarks.whole.store import one_server
from benchmarks.whole.tables import heading, number, table

NAIVE = ("-m", "benchmarks.cost.naive")
CHANNELS = ("LINE", "Slack", "console")
WARM_UP = 30
BOTH = (False, True)
ALONE = 4  # with one turn at a time, that part of the turns


class Bot(NamedTuple):
    """What is measured: how it is started, what its page sends, and which channels it has."""

    command: tuple[str, ...]
    console: Turn = naive_console_turn
    program: str = sys.executable
    channels: Collection[str] = CHANNELS


class Kind(NamedTuple):
    """A row of the tables."""

    channel: str
    with_tool: bool
    at_once: int

    def __str__(self) -> str:
        return self.channel + (", one tool" if self.with_tool else "")


Costs = Mapping[tuple[str, Kind], Cost]


def bots() -> dict[str, Bot]:
    """Kaiwa first; pydantic-ai only where it is installed."""
    found = {
        "Kaiwa": Bot(kaiwa_run(), console_turn),
        "naive": Bot((*NAIVE, "google_genai"), naive_console_turn),
    }
    if find_spec("pydantic_ai"):
        found["pydantic-ai"] = Bot((*NAIVE, "pydantic_ai"), naive_console_turn)
    return found


async def measure(measuring: Bench, bot: Bot, kind: Kind, turns: int) -> Cost:
    """Some turns of a kind."""
    turn = {"LINE": line_turn, "Slack": slack_turn, "console": bot.console}[kind.channel]
    measuring.platforms.tool_every = int(kind.with_tool)
    return await measuring.cost(repeat(partial(turn, measuring), turns), kind.at_once)


async def compare(
    turns: int,
    at_once: int,
    rounds: int,
    with_tool: Iterable[bool] = BOTH,
    beside: Mapping[str, Bot] | None = None,
) -> Costs:
    """Every kind of turn with every bot: all run at the same time, and are measured one after the
    other, in one order and then in the other.

    Args:
        with_tool: whether a turn calls a tool; both by default.
        beside: other bots than those of this benchmark.
    """
    costs: dict[tuple[str, Kind], Cost] = {}
    compared = beside or bots()
    channels = [one for one in CHANNELS if any(one in bot.channels for bot in compared.values())]
    async with AsyncExitStack() as stack:
        benches: dict[str, tuple[Bench, Bot]] = {}
        for name, bot in compared.items():
            store = await stack.enter_async_context(one_server())
            started = bench(store, *bot.command, program=bot.program)
            benches[name] = await stack.enter_async_context(started), bot
        for kind in [Kind(*of) for of in product(channels, with_tool, (at_once, 1))]:
            many = turns if kind.at_once > 1 else max(1, turns // ALONE)
            order = [name for name, bot in compared.items() if kind.channel in bot.channels]
            found: dict[str, list[Cost]] = {name: [] for name in order}
            for number_of_turns in (min(WARM_UP, many), *repeat(many, rounds)):
                for name in order:
                    found[name].append(await measure(*benches[name], kind, number_of_turns))
                order.reverse()
            costs |= {(name, kind): medians(measured[1:]) for name, measured in found.items()}
            print(f"{kind}, {kind.at_once} at once: measured", file=sys.stderr, flush=True)
    return costs


def beside(costs: Costs, kinds: list[Kind]) -> str:
    """Kaiwa beside the others."""
    others = [name for name in bots() if name != "Kaiwa"]
    columns = ["", "Kaiwa, CPU ms"]
    for name in others:
        columns += [f"{name}, CPU ms", "ratio"]
    columns += ["turns/s: Kaiwa", *others]
    rows = []
    for kind in kinds:
        own = costs["Kaiwa", kind]
        row = [str(kind), number(own.cpu_ms)]
        for name in others:
            theirs = costs[name, kind]
            row += [number(theirs.cpu_ms), f"{own.cpu_ms / theirs.cpu_ms:.2f}"]
        rows.append([*row, number(own.rate), *(number(costs[name, kind].rate) for name in others)])
    return table(columns, rows)


def asked(costs: Costs, kinds: list[Kind]) -> str:
    """What a turn asks of Redis and of the platform, and how long it takes."""
    columns = ["", "writes to Redis", "scripts", "commands", "bytes to Redis", "bytes from Redis"]
    columns += ["CPU of Redis, ms", "calls to the platform", "ms until the answer"]
    rows = []
    for name in ("Kaiwa", "naive"):
        for kind in kinds:
            cost = costs[name, kind]
            counts = (cost.requests, cost.scripts, cost.commands, cost.sent, cost.received)
            times = (number(cost.redis_ms), f"{cost.calls:.1f}", number(cost.wall_ms))
            rows.append(
                [
                    f"{name}, {kind}",
                    *(f"{value:,.1f}" for value in counts[:3]),
                    *map(number, counts[3:]),
                    *times,
                ]
            )
    return table(columns, rows)


async def main(turns: int = 240, at_once: int = 32, rounds: int = 3) -> None:
    """Measure, and print the tables."""
    costs = await compare(turns, at_once, rounds)
    print(heading("A whole turn", "python -m benchmarks.cost"))
    for many in (at_once, 1):
        kinds = [kind for name, kind in costs if name == "Kaiwa" and kind.at_once == many]
        print(f"CPU of the bot's process per turn, {many} at once:\n\n{beside(costs, kinds)}")
        print(f"Asked per turn, {many} at once:\n\n{asked(costs, kinds)}", flush=True)


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
