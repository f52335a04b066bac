"""What every loop is measured at: one question, four tools that do nothing, and the words that end
it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

SYSTEM = "You measure."
QUESTION = "Call all four tools."
TOOLS = ("first", "second", "third", "fourth")
DESCRIPTION = "Does nothing. Use it for measuring."
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "A number."}},
    "required": ["n"],
    "additionalProperties": False,
}
RESPONSE: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
WORDS = tuple(f"word{number} " for number in range(30))  # an event each
ANSWER = "".join(WORDS)

Turn = Callable[[], Awaitable[None]]


async def noop(n: int) -> dict[str, int]:
    """Give back what was given."""
    return {"n": n}
