"""pydantic-ai's agent over its model of each vendor, streaming.

It asks Ollama by its OpenAI-compatible door: it has no other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.task import ANSWER, DESCRIPTION, QUESTION, SYSTEM, TOOLS, Turn, noop

MODELS: dict[str, Callable[[str], Any]] = {
    "gemini": lambda url: GoogleModel(
        "gemini-2.5-flash", provider=GoogleProvider(api_key="key", base_url=url)
    ),
    "openai": lambda url: OpenAIChatModel(
        "gpt-5-mini", provider=OpenAIProvider(f"{url}/v1", "key")
    ),
    "anthropic": lambda url: AnthropicModel(
        "claude-sonnet-4-5", provider=AnthropicProvider(api_key="key", base_url=url)
    ),
    "ollama": lambda url: OllamaModel("qwen3", provider=OllamaProvider(f"{url}/v1", "key")),
}


@asynccontextmanager
async def loop(vendor: str, base_url: str) -> AsyncIterator[Turn]:
    """An agent with the four tools."""
    tools = [Tool(noop, name=name, description=DESCRIPTION) for name in TOOLS]
    agent = Agent(MODELS[vendor](base_url), system_prompt=SYSTEM, tools=tools)

    async def turn() -> None:
        text = ""
        async with agent.run_stream(QUESTION) as result:
            async for more in result.stream_text(delta=True, debounce_by=None):
                text += more
        assert text == ANSWER

    async with agent:
        yield turn
