"""anthropic's SDK, streaming, with a loop written by hand: its plain events, which cost less than
its stream helper."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic

from benchmarks.task import ANSWER, DESCRIPTION, PARAMETERS, QUESTION, SYSTEM, TOOLS, Turn, noop

MODEL = "claude-sonnet-4-5"
DECLARATIONS: Any = [
    {"name": name, "description": DESCRIPTION, "input_schema": PARAMETERS} for name in TOOLS
]


@asynccontextmanager
async def loop(vendor: str, base_url: str) -> AsyncIterator[Turn]:
    """The SDK alone."""
    client = AsyncAnthropic(api_key="key", base_url=base_url)

    async def turn() -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            blocks = await _answer(client, messages)
            messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                assert blocks[0]["text"] == ANSWER
                return
            results = await asyncio.gather(*(noop(**call["input"]) for call in calls))
            answers = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": json.dumps(result)}
                for call, result in zip(calls, results, strict=True)
            ]
            messages.append({"role": "user", "content": answers})

    async with client:
        yield turn


async def _answer(client: AsyncAnthropic, messages: list[Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    arguments = ""
    async for event in await client.messages.create(
        model=MODEL,
        max_tokens=2048,
        system=SYSTEM,
        messages=messages,
        tools=DECLARATIONS,
        stream=True,
    ):
        if event.type == "content_block_start":
            blocks.append(
                event.content_block.model_dump(include={"type", "text", "id", "name", "input"})
            )
            arguments = ""
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            blocks[-1]["text"] += event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            arguments += event.delta.partial_json
        elif event.type == "content_block_stop" and arguments:
            blocks[-1]["input"] = json.loads(arguments)
    return blocks
