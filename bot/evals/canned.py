"""The real tools, defined and validated as ever, whose calls return fixed results: no network, no
store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import toolset
from bot.evals.questions import Question, Response
from toolset.decorator import schemas_of
from toolset.tool import Tool, ToolContext, ToolError, ValidatedTool
from toolset.tool_map import ToolMap

NO_RESULT = "this does not work at the moment"
ARGUMENT = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
WHOLE_ARGUMENT = re.compile(r"\{=(\w+)\}")


class CannedTool:
    """A tool of ``toolset`` whose call returns a fixed response.

    Args:
        shared: None where only questions have a response for it.
        own: by the id of the question, which is the conversation of the call.
    """

    def __init__(
        self, tool: type[Tool], shared: Response | None, own: Mapping[str, Response]
    ) -> None:
        self._tool = tool
        self._shared = shared
        self._own = own

    def __getattr__(self, name: str) -> Any:
        """What the tool declares."""
        return getattr(self._tool, name)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Return the response.

        Raises:
            ToolError: the question wants the call to fail, or nobody has declared a response.
        """
        response = self._own.get(context.conversation, self._shared)
        if response is None:
            raise ToolError(NO_RESULT)
        if set(response) == {"error"}:
            raise ToolError(str(response["error"]))
        filled: dict[str, Any] = _fill(response, arguments)
        return filled


def canned_tools(
    questions: Sequence[Question], shared: Mapping[str, Response], *, by_search: bool = False
) -> ToolMap:
    """All tools that come with Kaiwa, also those that need a setting, with fixed results.

    Args:
        by_search: they are declared like many tools from elsewhere, as the model finds them by
            ``find_tools``.
    """

    def canned(tool: type[Tool]) -> ValidatedTool:
        name = tool.name
        own: dict[str, Response] = {}
        for question in questions:
            if name in question.results:
                own[question.id] = question.results[name]
        answering: Any = CannedTool(tool, shared.get(name), own)
        return ValidatedTool(answering, *schemas_of(tool), own=not by_search)

    return ToolMap(canned(tool) for tool in toolset.find())


def _fill(value: Any, arguments: Mapping[str, Any]) -> Any:
    """The value with arguments in place of their names: ``{location}``, ``{amount|1}``,
    ``{=numbers}``."""
    if isinstance(value, dict):
        return {name: _fill(one, arguments) for name, one in value.items()}
    if isinstance(value, list):
        return [_fill(one, arguments) for one in value]
    if not isinstance(value, str):
        return value
    if whole := WHOLE_ARGUMENT.fullmatch(value):
        return arguments[whole[1]]
    return ARGUMENT.sub(lambda found: str(arguments.get(found[1], found[2] or "")), value)
