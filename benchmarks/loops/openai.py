"""openai's SDK as its documentation shows it, streaming, with a loop written by hand; with tools,
and in JSON mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from openai import AsyncOpenAI

from benchmarks.task import ANSWER, DESCRIPTION, PARAMETERS, QUESTION, SYSTEM, TOOLS, Turn, noop

MODEL = "gpt-5-mini"
DECLARATIONS: Any = [
    {
        "type": "function",
        "function": {"name": name, "description": DESCRIPTION, "parameters": PARAMETERS},
    }
    for name in TOOLS
]
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "schema": {"type": "object"}},
}


@asynccontextmanager
async def loop(vendor: str, base_url: str) -> AsyncIterator[Turn]:
    """The SDK alone."""
    client = AsyncOpenAI(api_key="key", base_url=f"{base_url}/v1")

    async def with_tools() -> None:
        messages: list[Any] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": QUESTION},
        ]
        while True:
            text, calls = await _answer(client, messages)
            if not calls:
                assert text == ANSWER
                return
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            functions = [call["function"] for call in calls]
            results = await asyncio.gather(
                *(noop(**json.loads(function["arguments"])) for function in functions)
            )
            for call, result in zip(calls, results, strict=True):
                messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}
                )

    async def in_json() -> None:
        messages: list[Any] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": QUESTION},
        ]
        while True:
            text = await _json(client, messages)
            read = json.loads(text)
            if not read["tool_calls"]:
                assert read["reply"] == ANSWER
                return
            results = await asyncio.gather(
                *(noop(**call["arguments"]) for call in read["tool_calls"])
            )
            lines = [
                f"Result of {name}: {json.dumps(result)}"
                for name, result in zip(TOOLS, results, strict=True)
            ]
            messages += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": "\n".join(lines)},
            ]

    async with client:
        yield in_json if vendor == "json" else with_tools


async def _answer(client: AsyncOpenAI, messages: list[Any]) -> tuple[str, list[Any]]:
    text, calls = "", list[Any]()
    async for chunk in await client.chat.completions.create(
        model=MODEL,
        messages=messages,
        tools=DECLARATIONS,
        stream=True,
        stream_options={"include_usage": True},
    ):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                assert piece.function
                if piece.index == len(calls):
                    function = {"name": piece.function.name, "arguments": ""}
                    calls.append({"id": piece.id, "type": "function", "function": function})
                calls[piece.index]["function"]["arguments"] += piece.function.arguments or ""
    return text, calls


async def _json(client: AsyncOpenAI, messages: list[Any]) -> str:
    text = ""
    async for chunk in await client.chat.completions.create(
        model=MODEL,
        messages=messages,
        response_format=FORMAT,
        stream=True,
        stream_options={"include_usage": True},
    ):
        for choice in chunk.choices:
            text += choice.delta.content or ""
    return text
