"""The request to a model without function calling: instructions, tools, conversation, and the
schema of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bot.providers import ToolChoice
from bot.providers.shared.request import result_text
from bot.providers.shared.schema_dialect import VOCABULARY, Dialect, adapt
from bot.transcript import Message, Text, ToolResult, encode, new_id
from toolset.tool import ToolDefinition

HOW = """\
Answer every message with one JSON object and nothing else:
{"thought": "what to do, in one short sentence", "tool_call": null, \
"reply": "your words to the user"}
To use a tool, put {"name": "…", "arguments": {…}} in "tool_call" and leave "reply" empty: \
its result comes next.
Use a tool whenever one can find out what you were asked. With no tool to use, "tool_call" is null.
The reply is in the user's language."""

NO_TOOLS = "You have no tools."


class Example(NamedTuple):
    """A message and the answer to it."""

    message: str
    thought: str
    call: dict[str, Any] | None = None
    reply: str = ""


# Small models follow examples: every one that was measured chose right far more often with these
# than without.
EXAMPLES = (
    Example(
        "What's the weather in Kyoto?",
        "The weather tool knows.",
        call={"name": "get_weather", "arguments": {"location": "Kyoto"}},
    ),
    Example(
        (
            'Result of get_weather: {"output":{"location":"Kyoto, '
            'Japan","condition":"Sunny","current_temp_c":"21"}}'
        ),
        "I can answer now.",
        reply="It is sunny in Kyoto, 21 °C.",
    ),
    Example("Thanks, that helps!", "No tool is needed.", reply="You are welcome!"),
    Example(
        "札幌の天気を教えて",
        "天気のツールで調べる。",
        call={"name": "get_weather", "arguments": {"location": "札幌"}},
    ),
    Example(
        (
            'Result of get_weather: {"output":{"location":"Sapporo, '
            'Japan","condition":"Snow","current_temp_c":"-3"}}'
        ),
        "答えられる。",
        reply="札幌は雪で、気温はマイナス3度です。",
    ),
    Example("こんにちは", "ツールは要らない。", reply="こんにちは。何をお調べしましょうか。"),
)

UNREADABLE = (
    "That was not the one JSON object you were asked for. Answer again with that object alone."
)
CUT = "That was too long and broke off. Answer again with the JSON object, much shorter."


def instructions(system: str, tools: Sequence[ToolDefinition]) -> str:
    """The system prompt: the same bytes for the same tools, so that vendors can cache it."""
    about_tools = "Your tools:" if tools else NO_TOOLS
    for tool in tools:
        parameters = encode(tool.parameters).decode()
        about_tools += f"\n- {tool.name}: {tool.description} Arguments: {parameters}"
    sections = [HOW, about_tools, "Examples:"]
    if system:
        sections.insert(0, system)
    for one in EXAMPLES:
        answer = _object(one.thought, one.call, one.reply)
        sections.append(f"User: {one.message}\nYou: {answer}")
    return "\n\n".join(sections)


def conversation(messages: Sequence[Message]) -> list[Message]:
    """The conversation in the form of the examples: one call at a time, followed by its result."""
    results = {result.call_id: result for message in messages for result in message.results}
    turns: list[Message] = []
    for message in messages:
        turns += _turns(message, results)
    return turns


def repair(text: str, *, cut: bool) -> list[Message]:
    """The unreadable answer, and a message that says what is wrong with it."""
    return [_message("model", text), _message("user", CUT if cut else UNREADABLE)]


def _turns(message: Message, results: dict[str, ToolResult]) -> Iterator[Message]:
    if message.role == "user":
        yield message
    elif message.role == "model" and not message.calls:
        yield _message("model", _object("", None, message.text))
    for place, call in enumerate(message.calls):
        call_object = {"name": call.name, "arguments": call.written}
        yield _message("model", _object("", call_object, "" if place else message.text))
        if result := results.get(call.id):
            yield _message("user", f"Result of {result.name}: {result_text(result)}")


def _object(thought: str, call: dict[str, Any] | None, reply: str) -> str:
    return encode({"thought": thought, "tool_call": call, "reply": reply}).decode()


def _message(role: Any, text: str) -> Message:
    return Message(new_id("msg"), role, (Text(text),), 0)


JSON = dict[str, Any]

WHOLE = Dialect(VOCABULARY)


def schema_of(tools: Sequence[ToolDefinition], choice: ToolChoice) -> JSON:
    """The schema of an answer under a tool choice."""
    branches: list[JSON] = []
    if choice.mode != "none":
        branches += [_call(tool) for tool in tools if choice.name in ("", tool.name)]
    if choice.mode in ("auto", "none") or not branches:
        branches.insert(0, {"type": "null"})
    return {
        "type": "object",
        "properties": {
            "thought": {"type": "string"},
            "tool_call": branches[0] if len(branches) == 1 else {"anyOf": branches},
            "reply": {"type": "string"},
        },
        "required": ["thought", "tool_call", "reply"],
        "additionalProperties": False,
    }


def _call(tool: ToolDefinition) -> JSON:
    """The schema of a call, with references written out, as they cannot lead out of a schema inside
    another."""
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": [tool.name]},
            "arguments": adapt(tool.parameters, WHOLE),
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
