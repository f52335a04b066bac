"""A conversation with the demo model, and what the tools answer in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.providers.demo.client import Demo
from bot.texts import load
from bot.transcript import Message
from tests.bot.providers.asking import Reply, ask, declared, model, results, user
from toolset.tool import ToolDefinition

TOOLS = declared()
TEXTS = load()

TOKYO = {
    "location": "Tokyo, Japan",
    "condition": "Partly cloudy",
    "current_temp_c": "18",
    "days": [
        {
            "day": "today",
            "date": "2026-11-21",
            "weekday": "Saturday",
            "condition": "Sunny",
            "high_c": "19",
            "low_c": "11",
            "rain_chance": {"morning": "0", "evening": "20"},
        },
        {
            "day": "tomorrow",
            "date": "2026-11-22",
            "weekday": "Sunday",
            "condition": "Light rain",
            "high_c": "15",
            "low_c": "9",
            "rain_chance": {"morning": "80"},
        },
    ],
}
NEW_YEAR = {
    "datetime": "2026-12-31T23:05:00+09:00",
    "date": "2026-12-31",
    "weekday": "Thursday",
    "time": "23:05",
    "time_zone": "Asia/Tokyo",
    "utc_offset": "+09:00",
}
RESULTS: dict[str, dict[str, Any]] = {
    "get_weather": TOKYO,
    "get_current_time": NEW_YEAR,
    "calculate": {"result": "21", "is_exact": True},
}


def tools(*names: str) -> list[ToolDefinition]:
    return [tool for tool in TOOLS if tool.name in names]


class Chat:
    """A conversation with the demo model; every tool answers the same each time."""

    def __init__(
        self, responses: Mapping[str, dict[str, Any]] = RESULTS, said_before: bool = True
    ) -> None:
        self.demo = Demo(TEXTS)
        self.responses = responses
        self.messages: list[Message] = [model("Hello!")] if said_before else []

    async def ask(self, text: str) -> Reply:
        """One request with the user's words."""
        self.messages.append(user(text))
        return await ask(self.demo, self.messages, TOOLS)

    async def say(self, text: str) -> str:
        """A whole turn; gives the answer."""
        asked = await self.ask(text)
        while asked.calls:
            told = [self.responses.get(name, {"shown": "below"}) for name, _ in asked.calls]
            self.messages += [asked.response.message, results(asked.response.message, *told)]
            asked = await ask(self.demo, self.messages, TOOLS)
        self.messages.append(asked.response.message)
        return asked.text
