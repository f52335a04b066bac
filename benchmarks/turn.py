"""What a turn costs: Kaiwa's whole path beside google-genai's own loop without any store, in one run.

    .venv/bin/python -m benchmarks.turn

A turn is: user text → model (four parallel calls) → four no-op tools → model → text. Kaiwa's includes accepting the
message, lease, journal, validation, history, outbox and delivery on the bundled Valkey; the other one keeps nothing.
CPU is this process's own; the model and the store are processes apart.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvloop
from google import genai
from google.genai import types

from bot import log
from bot.agent import Agent
from bot.alerts import Alerts
from bot.approval import Policy
from bot.budgets import Budgets, Limits
from bot.channels import Arrival
from bot.channels.console import Console
from bot.conversation import conversations
from bot.days import Days
from bot.intake import Intake
from bot.metrics import Metrics
from bot.past import Past
from bot.providers.gemini import Gemini
from bot.providers.retrying import Retrying
from bot.replying import Defaults
from bot.spoken_commands import SpokenCommands
from bot.store import open_store
from bot.store.embedded import embedded
from bot.texts import load
from bot.transcript import Message, Text, new_id
from toolset.tool import Risk, ToolContext, ToolMap, ValidatedTool

MODEL = "gemini-2.5-flash"
TURNS = 200
PARAMETERS = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "A number."}},
    "required": ["n"],
    "additionalProperties": False,
}
RESPONSE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

Turn = Callable[[int], Awaitable[None]]


class Noop:
    """Gives back what it was given."""

    name = "noop"
    description = "Does nothing. Use it for measuring."
    risk: Risk = "low"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return {"n": arguments["n"]}


class NoJobs:
    """The benchmark attends by itself."""

    async def add(self, conversation: str, key: str) -> None:
        return None


@asynccontextmanager
async def model() -> AsyncIterator[str]:
    """The stub's address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.stub", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    process.stdin.close()
    await process.wait()


@asynccontextmanager
async def kaiwa(base_url: str) -> AsyncIterator[Turn]:
    """Kaiwa, from accept to delivery."""
    with TemporaryDirectory() as folder:
        log.configure("INFO", [], file=Path(folder) / "kaiwa.log")  # as in production: JSON lines
        async with embedded(Path(folder)) as url, open_store(url, history_days=1) as store:
            metrics = Metrics()
            provider = Retrying([Gemini("key", MODEL, base_url)], metrics)
            tools = ToolMap([ValidatedTool(Noop(), PARAMETERS, RESPONSE)])  # type: ignore[arg-type]  # no create()
            agent = Agent(provider, tools, "You measure.", metrics)
            channels: dict[str, Any] = {}
            texts = load()
            days, defaults = Days("UTC"), Defaults("en", "UTC")
            alerts = Alerts(store, channels, texts, days, "en")
            budgets = Budgets(store, Limits(), days, alerts, metrics)
            past = Past(store, provider, None, budgets, 16_000)
            care = conversations(store, agent, past, channels, texts, metrics, defaults, Policy(), budgets, alerts)
            intake = Intake(store, NoJobs(), SpokenCommands(texts), metrics)
            channels["console"] = Console(intake, store.live, care.past, care.question, texts, "en")

            async def turn(number: int) -> None:
                conversation = f"console:benchmark-{number}"
                message = Message(new_id("msg"), "user", (Text("Call noop four times."),), time.time_ns() // 1_000_000)
                assert await intake(conversation, Arrival(message))
                await care.attend(conversation)

            yield turn
            assert len(await care.past("console:benchmark-1")) == 4
            await provider.aclose()


@asynccontextmanager
async def plain_sdk(base_url: str) -> AsyncIterator[Turn]:
    """google-genai as its documentation shows it, streaming, with a loop written by hand."""
    options = types.HttpOptions(base_url=base_url, api_version="v1beta")
    client = genai.Client(api_key="key", http_options=options)
    declaration = types.FunctionDeclaration(
        name="noop", description=Noop.description, parameters_json_schema=PARAMETERS
    )
    config = types.GenerateContentConfig(
        system_instruction="You measure.",
        tools=[types.Tool(function_declarations=[declaration])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )

    async def turn(number: int) -> None:
        contents = [types.Content(role="user", parts=[types.Part(text="Call noop four times.")])]
        while True:
            parts: list[types.Part] = []
            async for chunk in await client.aio.models.generate_content_stream(
                model=MODEL, contents=list(contents), config=config
            ):
                assert chunk.candidates
                assert chunk.candidates[0].content
                parts += chunk.candidates[0].content.parts or []
            contents.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                return
            contents.append(
                types.Content(
                    role="user",
                    parts=[
                        types.Part.from_function_response(name="noop", response={"output": call.args}) for call in calls
                    ],
                )
            )

    yield turn
    await client.aio.aclose()


async def cpu_ms(turn: Turn, at_once: int) -> float:
    """CPU milliseconds a turn, after a warm-up."""
    for number in range(20):
        await turn(number)
    started = time.process_time()
    for first in range(0, TURNS, at_once):
        await asyncio.gather(*(turn(1000 + first + number) for number in range(at_once)))
    return (time.process_time() - started) * 1000 / TURNS


async def main() -> None:
    async with model() as base_url:
        for at_once in (1, 50):
            async with plain_sdk(base_url) as theirs:
                plain = await cpu_ms(theirs, at_once)
            async with kaiwa(base_url) as ours:
                whole = await cpu_ms(ours, at_once)
            print(
                f"{at_once:>3} at once: Kaiwa's whole turn {whole:.2f} ms CPU, "
                f"google-genai's bare loop {plain:.2f} ms, ratio {whole / plain:.2f}"
            )


if __name__ == "__main__":
    uvloop.run(main())
