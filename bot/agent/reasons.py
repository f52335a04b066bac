"""The reason that a model gives for a high-risk call: Kaiwa's own property beside the tool's
parameters.

It is recorded apart from the arguments; only the vendor's own form of the message
(``Message.opaque``) holds it where it was. A question for approval shows it and reviewers read it,
the tool does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.transcript import ToolCall
from toolset.tool import ToolDefinition

REASON = "reason"
CAP = 200  # characters
MOST_KNOWN = 64  # groups of tools
Tools = tuple[ToolDefinition, ...]
PROPERTY = {
    "type": "string",
    "maxLength": CAP,
    "description": "One short sentence for the person who decides about this call: "
    "why you want to make it.",
}
# Keywords through which a schema may know, or forbid, a property that is not in ``properties``.
UNCLEAR = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "propertyNames"}
).union(
    {
        "maxProperties",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "const",
        "enum",
    }
)


class Declarations:
    """The tools as models get them: those that act ask for a reason."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Tools, Tools]] = {}

    def of(self, tools: Tools) -> Tools:
        """The same object each time for the same tools: providers write a request's prefix once for
        it."""
        if id(tools) not in self._known:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            # The tools are kept, so no others can have their id.
            declared = tuple(
                _with_reason(tool) if asks_for_reason(tool) else tool for tool in tools
            )
            self._known[id(tools)] = tools, declared
        return self._known[id(tools)][1]


def asks_for_reason(tool: ToolDefinition) -> bool:
    """Whether the property is Kaiwa's: the tool acts, and its own schema has none of that name."""
    schema = tool.parameters
    return (
        tool.risk == "high"
        and REASON not in schema.get("properties", {})
        and not UNCLEAR & schema.keys()
    )


def with_reason_apart(call: ToolCall, tool: ToolDefinition | None) -> ToolCall:
    """The call as it is recorded; a reason that is no text is left out."""
    if tool is None or REASON not in call.arguments or not asks_for_reason(tool):
        return call
    arguments = {name: value for name, value in call.arguments.items() if name != REASON}
    reason = call.arguments[REASON]
    return ToolCall(call.id, call.name, arguments, reason if isinstance(reason, str) else "")


def _with_reason(tool: ToolDefinition) -> ToolDefinition:
    schema: dict[str, Any] = {
        **tool.parameters,
        "properties": {**tool.parameters.get("properties", {}), REASON: PROPERTY},
        "required": [*tool.parameters.get("required", ()), REASON],
    }
    return replace(tool, parameters=schema)
