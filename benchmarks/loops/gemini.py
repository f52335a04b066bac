"""google-genai as its documentation shows it, streaming, with a loop written by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from google import genai
from google.genai import types

from benchmarks.task import DESCRIPTION, PARAMETERS, QUESTION, SYSTEM, TOOLS, Turn, noop

MODEL = "gemini-2.5-flash"


@asynccontextmanager
async def loop(vendor: str, base_url: str, tools: Sequence[str] = TOOLS) -> AsyncIterator[Turn]:
    """The SDK alone."""
    options = types.HttpOptions(base_url=base_url, api_version="v1beta")
    client = genai.Client(api_key="key", http_options=options)
    declarations = [
        types.FunctionDeclaration(
            name=name, description=DESCRIPTION, parameters_json_schema=PARAMETERS
        )
        for name in tools
    ]
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM,
        tools=[types.Tool(function_declarations=declarations)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )

    async def turn() -> None:
        contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
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
            results = await asyncio.gather(*(noop(**call.args or {}) for call in calls))
            answers = [
                types.Part.from_function_response(name=call.name or "", response={"output": result})
                for call, result in zip(calls, results, strict=True)
            ]
            contents.append(types.Content(role="user", parts=answers))

    yield turn
    await client.aio.aclose()
