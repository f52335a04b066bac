"""Ollama's SDK as its documentation shows it, streaming, with a loop written by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ollama import AsyncClient

from benchmarks.task import ANSWER, DESCRIPTION, PARAMETERS, QUESTION, SYSTEM, TOOLS, Turn, noop

MODEL = "qwen3"
DECLARATIONS: Any = [
    {
        "type": "function",
        "function": {"name": name, "description": DESCRIPTION, "parameters": PARAMETERS},
    }
    for name in TOOLS
]


@asynccontextmanager
async def loop(vendor: str, base_url: str) -> AsyncIterator[Turn]:
    """The SDK alone."""
    client = AsyncClient(base_url)

    async def turn() -> None:
        messages: list[Any] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": QUESTION},
        ]
        while True:
            text, calls = "", list[Any]()
            async for part in await client.chat(MODEL, messages, tools=DECLARATIONS, stream=True):
                text += part.message.content or ""
                calls += part.message.tool_calls or []
            if not calls:
                assert text == ANSWER
                return
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
            results = await asyncio.gather(*(noop(**call.function.arguments) for call in calls))
            messages += [
                {"role": "tool", "content": json.dumps(result), "tool_name": name}
                for name, result in zip(TOOLS, results, strict=True)
            ]

    yield turn
    await client.close()
