"""Where a conversation stands: what the user wishes in this turn, and what the tools have answered so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.providers.demo.cities import zone_of
from bot.providers.demo.wishes import Focus, Wish, read
from bot.texts import language_of
from bot.transcript import Media, Message, ToolResult, encode

LOOK_BACK = 20  # messages before this turn that say what the conversation is about

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, as the rules see it.

    Attributes:
        results: by the call they answer, see ``signature``.
        is_first: the model has answered nothing before.
    """

    text: str
    wishes: tuple[Wish, ...]
    focus: Focus
    results: Mapping[bytes, ToolResult]
    language: str
    is_first: bool
    has_media: bool

    def result(self, wish: Wish) -> ToolResult | None:
        """What a tool answered to a wish."""
        call = call_for(wish)
        return self.results.get(signature(*call)) if call else None


def read_turn(messages: Sequence[Message], language: str) -> Turn:
    """Read the newest turn: all that follows the model's last answer.

    Args:
        language: for words that are of no language, such as ``3 * 7``.
    """
    start = next((place for place in range(len(messages), 0, -1) if _is_answer(messages[place - 1])), 0)
    current = messages[start:]
    focus = Focus()
    for message in messages[max(0, start - LOOK_BACK) : start]:
        if message.role == "user":
            language = language_of(message.text, language)
            _, focus = read(message.text, focus)
    wishes: list[Wish] = []
    asked = [message for message in current if message.role == "user"]
    for message in asked:
        language = language_of(message.text, language)
        found, focus = read(message.text, focus)
        wishes += found
    return Turn(
        text="\n".join(message.text for message in asked),
        wishes=tuple(dict.fromkeys(wishes)),
        focus=focus,
        results=_results(current),
        language=language,
        is_first=start == 0,
        has_media=any(isinstance(part, Media) for message in asked for part in message.parts),
    )


def call_for(wish: Wish) -> Call | None:
    """The tool call that grants a wish; None where something is missing for it."""
    if wish.topic == "sum":
        return "calculate", {"expression": wish.subject}
    if wish.topic == "weather":
        return ("get_weather", {"location": wish.subject}) if wish.subject else None
    if not wish.subject:
        return "get_current_time", {}
    zone = zone_of(wish.subject)
    return ("get_current_time", {"time_zone": zone}) if zone else None


def signature(name: str, arguments: Mapping[str, Any]) -> bytes:
    """The same for the same call."""
    return encode((name, sorted(arguments.items())))


def _is_answer(message: Message) -> bool:
    return message.role == "model" and not message.calls


def _results(messages: Sequence[Message]) -> dict[bytes, ToolResult]:
    results = {result.call_id: result for message in messages for result in message.results}
    calls = [call for message in messages for call in message.calls]
    return {signature(call.name, call.arguments): results[call.id] for call in calls if call.id in results}
