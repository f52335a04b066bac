"""What a turn costs over each provider: our agent, the vendor's SDK alone, pydantic-ai's model of
the same vendor.

    .venv/bin/pip install --requirement requirements-benchmarks.txt
    .venv/bin/python -m benchmarks.providers [gemini openai json anthropic ollama]

A turn is: user text → model (four parallel calls, streamed) → four no-op tools → model → thirty
pieces of text. The models are a process apart, and CPU is this process's own. A peer of
requirements-benchmarks.txt that is not installed is left out.
"""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack, redirect_stderr
from importlib import import_module
from tempfile import TemporaryFile

import uvloop

from benchmarks.measure import Cost, compare, process
from benchmarks.task import Turn
from bot import log

VENDORS = ("gemini", "openai", "json", "anthropic", "ollama")
SDKS = {"json": "openai"}
PEERS = {
    "ollama": "ollama",
    "pydantic_ai": "pydantic-ai-slim",
}  # what may be missing, by the name it is imported as
KAIWA, SDK, PYDANTIC_AI = "Kaiwa", "SDK alone", "pydantic-ai"
TURNS, ROUNDS = 20, 5  # at least; as many turns as there are at once


def modules(vendor: str) -> dict[str, str]:
    """The loops of a vendor, by what they are called in the table. No model of pydantic-ai's speaks
    JSON mode."""
    names = {KAIWA: "kaiwa", SDK: SDKS.get(vendor, vendor)}
    return names if vendor == "json" else names | {PYDANTIC_AI: "pydantic_ai"}


async def measure(vendor: str, base_url: str, at_once: int) -> dict[str, Cost]:
    """What a turn costs in each loop that is installed."""
    async with AsyncExitStack() as stack:
        loops: dict[str, Turn] = {}
        for name, module in modules(vendor).items():
            try:
                loop = import_module(f"benchmarks.loops.{module}").loop
            except ModuleNotFoundError as error:
                if error.name not in PEERS:
                    raise
                continue
            loops[name] = await stack.enter_async_context(loop(vendor, base_url))
        return await compare(loops, at_once, max(TURNS, at_once), ROUNDS)


def row(vendor: str, costs: dict[str, Cost]) -> str:
    """One line of the table: each loop's CPU and median wall time, and ours beside each other's."""
    own = costs[KAIWA]
    cells = [f"{vendor:<9}", f"{own.cpu_ms:6.2f} ({own.wall_ms:4.0f})"]
    for name in (SDK, PYDANTIC_AI):
        if cost := costs.get(name):
            cells.append(
                f"{cost.cpu_ms:6.2f} ({cost.wall_ms:4.0f}) {own.cpu_ms / cost.cpu_ms:5.2f}"
            )
        else:
            cells.append(f"{'not there':>19}" if name in modules(vendor) else " " * 19)
    return "  ".join(cells)


async def main(vendors: list[str]) -> None:
    print("CPU ms a turn (p50 of its wall time); Kaiwa's CPU divided by theirs")
    async with process("benchmarks.vendors") as base_url:
        for at_once in (1, 50):
            print(f"\n{at_once:>3} at once  {KAIWA:<13}  {SDK:<19}  {PYDANTIC_AI:<19}", flush=True)
            for vendor in vendors:
                print(row(vendor, await measure(vendor, base_url, at_once)), flush=True)


if __name__ == "__main__":
    with TemporaryFile("w") as lines, redirect_stderr(lines):
        log.configure("INFO", [], terminal=False)  # as in production: JSON lines on stderr
        uvloop.run(main(sys.argv[1:] or list(VENDORS)))
