"""What Ollama is sent: the neutral request as the JSON of its native chat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.providers import ToolChoice, wrap_result
from bot.providers.shared.request import Inline, in_base64, portable_name, visible_parts
from bot.providers.shared.schema_dialect import Dialect, adapt
from bot.transcript import Media, Message, Text, ToolResult, encode
from toolset.tool import ToolDefinition

PROVIDER = "ollama"
JSON = dict[str, Any]

TAKES_LEVELS = re.compile(r"(?:.*/)?gpt-oss")
LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
DEEP = ("medium", "high")  # all others know is thinking or not, and on a machine of one's own that takes its time
PARAGRAPH = "\n\n"

# What its own types hold; anything else is dropped before a template sees it:
# https://github.com/ollama/ollama/blob/main/api/types.go
DIALECT = Dialect(frozenset(("type", "properties", "required", "items", "description", "enum", "anyOf")))


def thinking(model: str, level: str) -> bool | str:
    """How hard the model should think."""
    return LEVELS[level] if TAKES_LEVELS.match(model) else level in DEEP


def declarations(tools: Sequence[ToolDefinition]) -> list[JSON]:
    """All tools."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": adapt(tool.parameters, DIALECT).schema,
            },
        }
        for tool in tools
    ]


def offer(declared: list[JSON], choice: ToolChoice) -> list[JSON]:
    """The tools that may be called. Ollama has no tool choice: what must not be called is not shown."""
    if choice.mode == "none":
        return []
    return [tool for tool in declared if choice.mode != "one" or tool["function"]["name"] == choice.name]


def chat(system: str, messages: Sequence[Message], model: str, inline: Inline = in_base64) -> list[JSON]:
    """The conversation. Adjacent messages of users become one: many models' templates want turns to alternate.

    Args:
        inline: what stands for the content of media.
    """
    said: list[JSON] = [{"role": "system", "content": system}] if system else []
    for message in messages:
        if message.role == "tool":
            said += [_tool(result) for result in message.results]
        elif message.role == "model":
            said += _assistant(message, model)
        elif user := _user(message, inline):
            if said and said[-1]["role"] == "user":
                said[-1] = _joined(said[-1], user)
            else:
                said.append(user)
    return said


def _user(message: Message, inline: Inline) -> JSON | None:
    parts = list(visible_parts(message))
    words = PARAGRAPH.join(part.text for part in parts if isinstance(part, Text))
    images = [inline(part.data) for part in parts if isinstance(part, Media)]
    if not (words or images):
        return None
    return {"role": "user", "content": words, **({"images": images} if images else {})}


def _joined(before: JSON, after: JSON) -> JSON:
    words = [one["content"] for one in (before, after) if one["content"]]
    images = before.get("images", []) + after.get("images", [])
    return {"role": "user", "content": PARAGRAPH.join(words), **({"images": images} if images else {})}


def _assistant(message: Message, model: str) -> list[JSON]:
    """A message of the model's with its own thoughts, none where there is nothing to send."""
    opaque = message.opaque
    own = opaque is not None and (opaque.provider, opaque.model) == (PROVIDER, model)
    said: JSON = {"role": "assistant", "content": message.text}
    if opaque is not None and own:
        said["thinking"] = opaque.data.decode()
    if message.calls:
        said["tool_calls"] = [
            {"function": {"name": portable_name(call.name), "arguments": call.arguments}} for call in message.calls
        ]
    return [said] if message.text or message.calls else []


def _tool(result: ToolResult) -> JSON:
    content = encode(wrap_result(result)).decode()
    return {"role": "tool", "content": content, "tool_name": portable_name(result.name)}
