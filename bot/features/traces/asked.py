"""What a recorded request asked, in the form of the transcript, whoever's vendor it went to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from bot.clock import now_ms
from bot.transcript import Message, Part, Role, Text, ToolCall, ToolResult, new_id

JSON = dict[str, Any]
# How vendors name the system prompt, the messages and the tools of a request.
SYSTEMS = ("systemInstruction", "system_instruction", "system", "instructions")
LISTS = ("contents", "messages", "input")
MODELS = ("model", "assistant")
INSTRUCTS = ("system", "developer")
FILES = ("inlineData", "fileData", "source", "image_url", "input_audio", "file", "images")
CACHED = "cachedContent"  # stands for members that the vendor keeps
MOST_DEPTH = 8


@dataclass(frozen=True)
class Asked:
    """A request, as it can be asked again.

    Attributes:
        tools: names of those that were declared, in their order.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[str]


@dataclass
class _Reading:
    """Calls so far, for their results, which not every vendor's form joins to them.

    Attributes:
        names: by call.
        open: calls without a result, the oldest first.
    """

    names: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def call(self, given_id: Any, name: Any, arguments: Any) -> Part:
        """A call, with its arguments as an object."""
        call_id = given_id if isinstance(given_id, str) and given_id else new_id("call")
        if isinstance(arguments, str):
            arguments = _decoded(arguments)
        self.names[call_id] = str(name)
        self.open.append(call_id)
        return ToolCall(call_id, str(name), arguments if isinstance(arguments, dict) else {})

    def result(self, given_id: Any, name: Any, content: Any) -> Part:
        """A result; one that no call has asked for is text."""
        waiting = [one for one in self.open if name in ("", self.names[one])]
        call_id = given_id if given_id in self.open else next(iter(waiting), "")
        if not call_id:
            return Text(_words(content))
        self.open.remove(call_id)
        response = content if isinstance(content, dict) else _decoded(_words(content))
        if not isinstance(response, dict):
            response = {"output": _words(content)}
        output = response.get("output")
        if isinstance(output, dict):
            response = output
        return ToolResult(call_id, self.names[call_id], response, is_error="error" in response)


def asked_in(body: bytes, cached: bytes = b"") -> Asked | None:
    """What a body asked; None where it holds no messages, or not all that was sent.

    Args:
        cached: members that the vendor kept, as JSON.
    """
    content = _decoded(body)
    if isinstance(content, list) and len(content) == 2:  # of a model of ours
        content = {"system": content[0], "messages": content[1]}
    if not isinstance(content, dict):
        return None
    if CACHED in content:
        prefix = _decoded(cached)
        if not isinstance(prefix, dict):
            return None
        content |= prefix
    systems = [_words(content[name]) for name in SYSTEMS if name in content]
    messages: list[Message] = []
    reading = _Reading()
    for item in _items(content):
        if not isinstance(item, dict):
            continue
        if item.get("role") in INSTRUCTS:
            systems.append(_words(item))
            continue
        for part in _parts(item, reading):
            _add(messages, _role(item, part), part)
    if not messages:
        return None
    return Asked(
        "\n\n".join(filter(None, systems)), messages, tuple(dict.fromkeys(_names(content)))
    )


def _add(messages: list[Message], role: Role, part: Part) -> None:
    """Add a part to the last message, if that is of the same role; texts of people stay apart."""
    if messages and messages[-1].role == role != "user":
        messages[-1] = replace(messages[-1], parts=(*messages[-1].parts, part))
    else:
        messages.append(Message(new_id("msg"), role, (part,), now_ms()))


def _role(item: JSON, part: Part) -> Role:
    if isinstance(part, ToolResult):
        return "tool"
    return "model" if item.get("role") in MODELS else "user"


def _items(content: JSON) -> Sequence[Any]:
    for name in LISTS:
        found = content.get(name)
        if isinstance(found, list):
            return found
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
    return []


def _parts(item: JSON, reading: _Reading) -> list[Part]:
    """The parts of a message, in the vendor's order."""
    content = item.get("parts", item.get("content"))
    if item.get("role") == "tool" and isinstance(content, str):
        name = item.get("tool_name", "")
        return [reading.result(item.get("tool_call_id"), name, content)]
    raw = content if isinstance(content, list) else [content] if content else []
    parts = [part for one in raw if (part := _part(one, reading)) is not None]
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        made = call.get("function") if isinstance(call, dict) else None
        if isinstance(made, dict):
            parts.append(reading.call(call.get("id"), made.get("name"), made.get("arguments")))
    if item.get("images"):
        parts.append(Text("[file]"))
    return parts


def _part(part: Any, reading: _Reading) -> Part | None:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict) or part.get("thought"):
        return None
    for kind, read in READERS.items():
        value = part.get(kind)
        if isinstance(value, dict):
            return read(reading, value)
        if part.get("type") == kind:
            return read(reading, part)
    if any(name in part for name in FILES):
        return Text("[file]")
    text = part.get("text")
    return Text(text) if isinstance(text, str) and text else None


def _read_call(reading: _Reading, made: JSON) -> Part:
    arguments = made.get("args", made.get("input", made.get("arguments")))
    return reading.call(made.get("id"), made.get("name"), arguments)


def _read_result(reading: _Reading, found: JSON) -> Part:
    given_id = found.get("tool_use_id", found.get("call_id", found.get("id")))
    return reading.result(
        given_id, found.get("name", ""), found.get("response", found.get("content"))
    )


READERS: Mapping[str, Callable[[_Reading, JSON], Part]] = {
    "functionCall": _read_call,
    "tool_use": _read_call,
    "call": _read_call,
    "functionResponse": _read_result,
    "tool_result": _read_result,
    "result": _read_result,
}


def _words(part: Any, depth: int = 0) -> str:
    """The texts of a part, one below the other."""
    if isinstance(part, str):
        return part
    if depth >= MOST_DEPTH:
        return ""
    if isinstance(part, list):
        return "\n".join(filter(None, (_words(one, depth + 1) for one in part)))
    if isinstance(part, dict):
        for name in ("parts", "content", "text"):
            if name in part:
                return _words(part[name], depth + 1)
    return ""


def _names(content: JSON) -> list[str]:
    """The names of the tools that a request declares."""
    found = []
    tools = content.get("tools")
    for tool in tools if isinstance(tools, list) else []:
        declared = tool.get("functionDeclarations", [tool]) if isinstance(tool, dict) else []
        for one in declared if isinstance(declared, list) else []:
            one = one.get("function", one) if isinstance(one, dict) else {}
            if isinstance(one, dict) and isinstance(one.get("name"), str):
                found.append(one["name"])
    return found


def _decoded(data: str | bytes) -> Any:
    """JSON as it is; None for what is none, or too deep."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
