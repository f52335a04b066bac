"""The answer by google-genai and its automatic function calling."""

from __future__ import annotations

import os
from functools import cache

from google import genai
from google.genai import types

from benchmarks.cost.answers import KEEP, MODEL, SYSTEM, get_weather, redis

CONFIG = types.GenerateContentConfig(system_instruction=SYSTEM, tools=[get_weather])


@cache
def client() -> genai.Client:
    """For all requests."""
    options = types.HttpOptions(base_url=os.environ["GOOGLE_GEMINI_BASE_URL"])
    return genai.Client(api_key="key", http_options=options)


async def answer(conversation: str, text: str) -> str:
    """The model's answer, after what was said before."""
    key = f"history:{conversation}"
    contents = [
        types.Content.model_validate_json(entry) for entry in await redis().lrange(key, -KEEP, -1)
    ]
    asked = types.Content(role="user", parts=[types.Part(text=text)])
    response = await client().aio.models.generate_content(
        model=MODEL, contents=[*contents, asked], config=CONFIG
    )
    answer = types.Content(role="model", parts=[types.Part(text=response.text)])
    await redis().rpush(
        key, asked.model_dump_json(exclude_none=True), answer.model_dump_json(exclude_none=True)
    )
    return response.text or ""
