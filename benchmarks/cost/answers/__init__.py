"""How the naive bot gets an answer: google-genai's own loop, or pydantic-ai's agent; the history in
a Redis list."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import httpx
from redis.asyncio import Redis

MODEL = "gemini-3.5-flash"
SYSTEM = "You are Kaiwa, a helpful assistant. Answer in the user's language."
KEEP = 40  # entries of the history that the model gets


@cache
def http() -> httpx.AsyncClient:
    """For the tool."""
    return httpx.AsyncClient(timeout=3)


@cache
def redis() -> Redis:
    """For the history."""
    return Redis.from_url(os.environ["REDIS_URL"])


async def get_weather(location: str) -> dict[str, Any]:
    """The weather at a place."""
    answer = await http().get(f"{os.environ['WTTR_BASE_URL']}/{location}", params={"format": "j1"})
    now = answer.json()["current_condition"][0]
    return {
        "location": location,
        "temperature": now["temp_C"],
        "condition": now["weatherDesc"][0]["value"],
    }
