"""The answers of the demo model: a sentence for each wish, and in the first answer who speaks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date

from bot.providers.demo.request import GREETING, THANKS, Call, Turn, Wish
from bot.transcript import Media, ToolResult, encode

# A result without a wish is shown with so many characters.
SHOWN = 300
TOOLS = (
    "get_weather",
    "get_current_time",
    "calculate",
    "set_reminder",
    "add_to_list",
    "start_poll",
)

# A sentence of the catalogue's table ``demo`` in the user's language, by its key and values.
Say = Callable[..., str]


def answer(say: Say, turn: Turn, offered: Collection[str]) -> str:
    """The whole answer; ``offered`` are the names of the tools."""
    results = turn.results()
    lines = [_outcome(say, wish, results) for wish in turn.wishes]
    if any(isinstance(part, Media) for message in turn.messages for part in message.parts):
        lines.append(say("cannot_see"))
    if not lines:
        # Another provider or a forced tool choice made the calls.
        for (name, _), one in results:
            lines.append(f"{name}: {encode(one.response).decode()[:SHOWN]}")
    if not lines and any(THANKS.search(message.text) for message in turn.messages):
        lines.append(say("thanks"))
    is_understood = bool(lines)
    if not lines:
        is_understood = any(GREETING.search(message.text) for message in turn.messages)
        lines = [say("greeting" if is_understood else "only")]
        examples = [say(f"can_{tool}") for tool in TOOLS if tool in offered]
        lines += [say("abilities"), *examples] if examples else [say("no_abilities")]
    if turn.is_first and is_understood:
        lines += ["", say("first")]
    return "\n".join(lines)


def _outcome(say: Say, wish: Wish, results: Sequence[tuple[Call, ToolResult]]) -> str:
    if wish.intent == "weather" and not wish.subject:
        return say("ask_place")
    result = next((result for call, result in results if call == wish.call), None)
    subject = wish.subject or say("the_time")
    if result is None:
        return say("no_tool", subject=subject)
    at = str(result.response.get("at", "")).replace("T", " ")
    values = {**result.response, "subject": subject, "at": at}
    if day := result.response.get("date"):
        values["weekday"] = say("weekdays").split()[date.fromisoformat(day).weekday()]
    try:
        return say(wish.intent, **values)
    except KeyError:
        # This is an error, or a result that was cut.
        return say("failed", subject=subject, why=result.response.get("error", "?"))
