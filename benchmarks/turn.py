"""What a turn costs: Kaiwa's whole path beside google-genai's own loop without any store, in one
run.

    .venv/bin/python -m benchmarks.turn

A turn is: user text → model (four parallel calls) → four no-op tools → model → text. Kaiwa's
includes accepting the message, lease, journal, validation, history, outbox and delivery on the
bundled Valkey; the other one keeps nothing. CPU is this process's own; the model and the store are
processes apart.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stderr
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import uvloop

from benchmarks.loops import gemini
from benchmarks.loops.kaiwa import Noop
from benchmarks.measure import compare, process
from benchmarks.task import PARAMETERS, RESPONSE, SYSTEM, Turn
from bot import log
from bot.agent.loop import Agent
from bot.channels import Channel, InboundEvent
from bot.channels.console.channel import Console, Reads
from bot.pipeline.accept import Intake
from bot.pipeline.history import read_history
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import make_services
from bot.providers.fallback import FallbackProvider
from bot.providers.gemini.client import Gemini
from bot.store import open_store
from bot.store.embedded import open_embedded
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Message, Text, new_id
from tests.fakes.stored_files import LocalUploads
from toolset.tool import ValidatedTool
from toolset.tool_map import ToolMap

MODEL = "gemini-2.5-flash"
TURNS, ROUNDS = 50, 7


@asynccontextmanager
async def kaiwa(base_url: str) -> AsyncIterator[Turn]:
    """Kaiwa, from accept to delivery."""
    with TemporaryDirectory() as folder:
        async with open_embedded(Path(folder)) as url, open_store(url, history_days=1) as store:
            metrics = Metrics()
            provider = FallbackProvider([Gemini("key", MODEL, base_url)], metrics)
            # no create()
            tools = ToolMap([ValidatedTool(Noop("noop"), PARAMETERS, RESPONSE)])  # type: ignore[arg-type]
            agent = Agent(provider, tools, SYSTEM, metrics)
            texts = load()
            channels = dict[str, Channel]()
            services = make_services(store, agent, channels, texts, metrics)
            intake = Intake(services)
            reads = Reads(partial(read_history, store))
            console = Console(intake, store.live, reads, texts, "en", LocalUploads())
            channels["console"] = console
            runner = ConversationRunner(services, agent)

            numbers = count()

            async def turn() -> None:
                conversation = f"console:benchmark-{next(numbers)}"
                message = Message(
                    new_id("msg"),
                    "user",
                    (Text("Call noop four times."),),
                    time.time_ns() // 1_000_000,
                )
                assert await intake(conversation, InboundEvent(message))
                await runner.process(conversation)

            yield turn
            assert len(await read_history(store, "console:benchmark-1")) == 4
            await provider.aclose()


async def main() -> None:
    async with (
        process("benchmarks.stub") as base_url,
        gemini.loop("gemini", base_url, tools=["noop"]) as plain,
        kaiwa(base_url) as whole,
    ):
        for at_once in (1, 50):
            costs = await compare({"plain": plain, "whole": whole}, at_once, TURNS, ROUNDS)
            own, theirs = costs["whole"].cpu_ms, costs["plain"].cpu_ms
            print(
                f"{at_once:>3} at once: Kaiwa's whole turn {own:.2f} ms CPU, "
                f"google-genai's bare loop {theirs:.2f} ms, ratio {own / theirs:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    with TemporaryFile("w") as lines, redirect_stderr(lines):
        log.configure("INFO", [], terminal=False)  # as in production: JSON lines on stderr
        uvloop.run(main())
