"""Our agent over each of our providers, with its retries, its validated tools and its log, and
nothing kept."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.task import (
    ANSWER,
    DESCRIPTION,
    PARAMETERS,
    QUESTION,
    RESPONSE,
    SYSTEM,
    TOOLS,
    Turn,
    noop,
)
from bot.agent import turn as turns
from bot.agent.loop import Agent
from bot.agent.turn import ActingCall, ApprovalDecision, TurnContext, TurnUpdate
from bot.channels import NoWatcher
from bot.clock import now_ms
from bot.providers import Provider
from bot.providers.anthropic.client import Anthropic
from bot.providers.fallback import FallbackProvider
from bot.providers.gemini.client import Gemini
from bot.providers.json_mode.client import JsonMode
from bot.providers.ollama.client import Ollama
from bot.providers.openai.client import OpenAI
from bot.telemetry import Metrics
from bot.transcript import Message, Spending, Text, new_id
from toolset.tool import Risk, ToolContext, ValidatedTool
from toolset.tool_map import ToolMap

PROVIDERS: dict[str, Callable[[str], Provider]] = {
    "gemini": lambda url: Gemini("key", "gemini-2.5-flash", url),
    "openai": lambda url: OpenAI("key", "gpt-5-mini", url),
    "json": lambda url: JsonMode(OpenAI("key", "gpt-5-mini", url)),
    "anthropic": lambda url: Anthropic("key", "claude-sonnet-4-5", url),
    "ollama": lambda url: Ollama("qwen3", url),
}


class Noop:
    """Gives back what it was given."""

    description = DESCRIPTION
    risk: Risk = "low"

    def __init__(self, name: str) -> None:
        self.name = name

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return await noop(arguments["n"])


class NoPorts:
    """Writes nothing down."""

    async def record(self, step: turns.TurnStep) -> None:
        return None

    async def spend(self, spending: Spending) -> None:
        return None

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        return TurnUpdate()

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        raise AssertionError(acting)


@asynccontextmanager
async def loop(vendor: str, base_url: str) -> AsyncIterator[Turn]:
    """Kaiwa's agent, without store and channel."""
    metrics = Metrics()
    provider = FallbackProvider([PROVIDERS[vendor](base_url)], metrics)
    # no create()
    tools = [ValidatedTool(Noop(name), PARAMETERS, RESPONSE) for name in TOOLS]  # type: ignore[arg-type]
    agent = Agent(provider, ToolMap(tools), SYSTEM, metrics)

    async def turn() -> None:
        asked = Message(new_id("msg"), "user", (Text(QUESTION),), now_ms())
        place = TurnContext("console:benchmark", "", "en", "UTC", NoWatcher())
        begun = turns.Turn(new_id("turn"), place, (), [asked], NoPorts(), time.monotonic() + 60)
        answer = await agent.run(begun)
        assert answer is not None
        assert (answer.text, [len(message.results) for message in begun.added]) == (
            ANSWER,
            [0, 0, len(TOOLS), 0],
        )

    try:
        yield turn
    finally:
        await provider.aclose()
