"""The schema of an answer: a thought, a call or none, and words for the user, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.providers import ToolChoice
from bot.providers.shared.schema_dialect import VOCABULARY, Dialect, adapt
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

WHOLE = Dialect(VOCABULARY)


def schema_of(tools: Sequence[ToolDefinition], choice: ToolChoice) -> JSON:
    """What an answer may hold under a tool choice."""
    callable_tools = [tool for tool in tools if choice.mode != "none" and choice.name in ("", tool.name)]
    branches = [_call(tool) for tool in callable_tools]
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
    """A call, with references written out: those of a schema inside another one would lead nowhere."""
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": [tool.name]},
            "arguments": adapt(tool.parameters, WHOLE).schema,
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
