"""The words of requests and answers in the form that the conventions give them, bounded, and
without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.log import without_secrets
from bot.transcript import Media, Message, Text, ToolCall, ToolResult, encode

# A text has so many characters at most, and all messages of an attribute together.
TEXT_CAP, ALL_CAP = 4_000, 16_000
MOST_PARTS = 20  # of a message
ROLES = {"user": "user", "model": "assistant", "tool": "tool"}
# What the conventions call the reasons for which a model stops.
FINISH_REASONS = {
    "end_turn": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "blocked": "content_filter",
    "malformed": "error",
}


def instructions(system: str) -> str:
    """``gen_ai.system_instructions``."""
    return _json([_text(system)])


def messages(sent: Sequence[Message]) -> str:
    """``gen_ai.input.messages``: the newest ones that are not too long together."""
    found: list[str] = []
    left = ALL_CAP
    for message in reversed(sent):
        one = _json({"role": ROLES[message.role], "parts": _parts(message)})
        left -= len(one)
        if left < 0 and found:
            break
        found.append(one)
    return f"[{','.join(reversed(found))}]"


def answer(message: Message, stop_reason: str) -> str:
    """``gen_ai.output.messages``."""
    reason = FINISH_REASONS.get(stop_reason, stop_reason)
    return _json([{"role": "assistant", "parts": _parts(message), "finish_reason": reason}])


def value(of_call: dict[str, Any]) -> str:
    """``gen_ai.tool.call.arguments`` and ``gen_ai.tool.call.result``."""
    return _cut(_json(of_call))


def _parts(message: Message) -> list[dict[str, Any]]:
    preface = [_text(message.preface)] if message.preface else []
    return preface + [_part(part) for part in message.parts[:MOST_PARTS]]


def _part(part: Text | Media | ToolCall | ToolResult) -> dict[str, Any]:
    match part:
        case Text():
            return _text(part.text)
        case ToolCall():
            arguments = _bounded(part.arguments)
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            response = _bounded(part.response)
            return {"type": "tool_call_response", "id": part.call_id, "response": response}
        case Media():
            # A kind of its own: the conventions' files have their content, or an id.
            return {"type": "media", "mime_type": part.mime}


def _bounded(of_call: dict[str, Any]) -> dict[str, Any] | str:
    """The object, or the beginning of a long one."""
    shown = value(of_call)
    return shown if len(shown) > TEXT_CAP else of_call


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": _cut(without_secrets(text))}


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CAP else f"{text[:TEXT_CAP]}…"


def _json(value: Any) -> str:
    return without_secrets(encode(value).decode())
