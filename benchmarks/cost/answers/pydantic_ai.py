"""The answer by pydantic-ai's agent."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from benchmarks.cost.answers import KEEP, MODEL, SYSTEM, get_weather, redis


@cache
def agent() -> Any:
    """One for all conversations."""
    provider = GoogleProvider(api_key="key", base_url=os.environ["GOOGLE_GEMINI_BASE_URL"])
    return Agent(GoogleModel(MODEL, provider=provider), system_prompt=SYSTEM, tools=[get_weather])


async def answer(conversation: str, text: str) -> str:
    """The model's answer, after what was said before; an entry of the history is a turn."""
    key = f"history:{conversation}"
    entries = await redis().lrange(key, -KEEP // 2, -1)
    before = [
        message for entry in entries for message in ModelMessagesTypeAdapter.validate_json(entry)
    ]
    result = await agent().run(text, message_history=before)
    await redis().rpush(key, result.new_messages_json())
    return str(result.output)
