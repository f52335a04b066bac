"""The request to Ollama: the neutral request as JSON of its native chat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.providers import ToolChoice, wrap_result
from bot.providers.shared.request import Inline, portable_name, visible_parts
from bot.providers.shared.schema_dialect import Dialect, adapt
from bot.transcript import Media, Message, Text, ToolResult, encode
from toolset.tool import ToolDefinition

PROVIDER = "ollama"
JSON = dict[str, Any]

TAKES_LEVELS = re.compile(r"(?:.*/)?gpt-oss")
LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
# Other models only think or not, and thinking is slow on one's own machine.
DEEP = ("medium", "high")
PARAGRAPH = "\n\n"

# The fields of Ollama's own types; it drops all others before the template of a model is filled in:
# https://github.com/ollama/ollama/blob/main/api/types.go
DIALECT = Dialect(
    frozenset(("type", "properties", "required", "items", "description", "enum", "anyOf"))
)


def thinking(model: str, level: str) -> bool | str:
    """How hard the model should think: a level, or yes and no."""
    return LEVELS[level] if TAKES_LEVELS.match(model) else level in DEEP


def declarations(tools: Sequence[ToolDefinition]) -> list[JSON]:
    """The tools as Ollama declares functions."""
    declared: list[JSON] = []
    for tool in tools:
        parameters = adapt(tool.parameters, DIALECT)
        function = {"name": tool.name, "description": tool.description, "parameters": parameters}
        declared.append({"type": "function", "function": function})
    return declared


def offer(tools: Sequence[ToolDefinition], choice: ToolChoice) -> Sequence[ToolDefinition]:
    """The tools that the model may call. Ollama has no tool choice, so the others are left out."""
    if choice.mode == "none":
        return ()
    if choice.mode == "one":
        return [tool for tool in tools if tool.name == choice.name]
    return tools


def chat(system: str, messages: Sequence[Message], model: str, inline: Inline) -> list[JSON]:
    """The conversation. Adjacent messages of users become one: the templates of many models want
    turns to alternate.

    Args:
        inline: writes the content of media.
    """
    turns: list[JSON] = []
    if system:
        turns.append({"role": "system", "content": system})
    for message in messages:
        if message.role == "tool":
            turns += [_tool(result) for result in message.results]
        elif message.role == "model":
            turns += _assistant(message, model)
        elif user := _user(message, inline):
            if turns and turns[-1]["role"] == "user":
                turns[-1] = _joined(turns[-1], user)
            else:
                turns.append(user)
    return turns


def _user(message: Message, inline: Inline) -> JSON | None:
    parts = list(visible_parts(message))
    words = PARAGRAPH.join(part.text for part in parts if isinstance(part, Text))
    images = [inline(part.data) for part in parts if isinstance(part, Media)]
    if not (words or images):
        return None
    return _with_images(words, images)


def _joined(before: JSON, after: JSON) -> JSON:
    words = [one["content"] for one in (before, after) if one["content"]]
    images = before.get("images", []) + after.get("images", [])
    return _with_images(PARAGRAPH.join(words), images)


def _with_images(words: str, images: list[str]) -> JSON:
    turn: JSON = {"role": "user", "content": words}
    if images:
        turn["images"] = images
    return turn


def _assistant(message: Message, model: str) -> list[JSON]:
    """A message of the model with the thoughts that this model wrote; none for an empty message."""
    opaque = message.opaque
    own = opaque is not None and (opaque.provider, opaque.model) == (PROVIDER, model)
    turn: JSON = {"role": "assistant", "content": message.text}
    if opaque is not None and own:
        turn["thinking"] = opaque.data.decode()
    if message.calls:
        calls: list[JSON] = []
        for call in message.calls:
            function = {"name": portable_name(call.name), "arguments": call.written}
            calls.append({"function": function})
        turn["tool_calls"] = calls
    if not (message.text or message.calls):
        return []
    return [turn]


def _tool(result: ToolResult) -> JSON:
    content = encode(wrap_result(result)).decode()
    return {"role": "tool", "content": content, "tool_name": portable_name(result.name)}
