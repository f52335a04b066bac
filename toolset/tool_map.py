"""The tools on offer, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from toolset.schema import shortened
from toolset.tool import NAME_CAP, ToolContext, ToolOutcome, ToolSetupError, ValidatedTool


class ToolMap(Mapping[str, ValidatedTool]):
    """The tools on offer, by name.

    Raises:
        ToolSetupError: two tools of one name, or of one command.

    Attributes:
        commands: the name of the tool that a command calls, by the command's word.
    """

    def __init__(self, tools: Iterable[ValidatedTool]) -> None:
        self._tools: dict[str, ValidatedTool] = {}
        self.commands: dict[str, str] = {}
        for tool in tools:
            name = tool.definition.name
            if name in self._tools:
                raise ToolSetupError(f"two tools are named {name}")
            self._tools[name] = tool
            for word in tool.commands:
                if (other := self.commands.setdefault(word, name)) != name:
                    raise ToolSetupError(f"the tools {other} and {name} have the same command: {word}")
        self.definitions = tuple(tool.definition for tool in self._tools.values())

    def __getitem__(self, name: str) -> ValidatedTool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolOutcome:
        """Call a tool by the name that the model used; an unknown name is an error outcome."""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolOutcome.error(f"unknown tool: {shortened(name, NAME_CAP)}. Available tools: {known}")
        return await tool.call(arguments, context)

    async def forget(self, conversation: str) -> int:
        """Let every tool delete what it keeps of a conversation; returns the number of deleted files."""
        return sum([await tool.forget(conversation) for tool in self._tools.values()])

    def low_risk(self) -> ToolMap:
        """The tools that only read."""
        return ToolMap(tool for tool in self._tools.values() if tool.definition.only_reads)
