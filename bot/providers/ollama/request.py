"""The request to Ollama: the neutral request as JSON of its native chat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.providers import ToolChoice
from bot.providers.shared.request import (
    Inline,
    own_opaque,
    portable_name,
    result_text,
    visible_parts,
)
from bot.providers.shared.schema_dialect import Dialect, adapt
from bot.transcript import Media, Message, Text, ToolResult
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
        else:
            parts = list(visible_parts(message))
            words = [part.text for part in parts if isinstance(part, Text)]
            images = [inline(part.data) for part in parts if isinstance(part, Media)]
            if not (words or images):
                continue
            if turns and turns[-1]["role"] == "user":
                before = turns.pop()
                words = [one for one in (before["content"], *words) if one]
                images = before.get("images", []) + images
            turn: JSON = {"role": "user", "content": PARAGRAPH.join(words)}
            if images:
                turn["images"] = images
            turns.append(turn)
    return turns


def _assistant(message: Message, model: str) -> list[JSON]:
    """A message of the model with the thoughts that this model wrote; none for an empty message."""
    turn: JSON = {"role": "assistant", "content": message.text}
    if thoughts := own_opaque(message, PROVIDER, model):
        turn["thinking"] = thoughts.decode()
    if message.calls:
        turn["tool_calls"] = [
            {"function": {"name": portable_name(call.name), "arguments": call.written}}
            for call in message.calls
        ]
    return [turn] if message.text or message.calls else []


def _tool(result: ToolResult) -> JSON:
    name = portable_name(result.name)
    return {"role": "tool", "content": result_text(result), "tool_name": name}
