"""The tools on offer, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolset.schema import shortened
from toolset.tool import NAME_CAP, ToolContext, ToolOutcome, ToolSetupError, ValidatedTool


class ToolMap(Mapping[str, ValidatedTool]):
    """The tools on offer, by name.

    Raises:
        ToolSetupError: two tools of one name, or of one command.

    Attributes:
        commands: the name of the tool that a command calls, by the command's word.
    """

    def __init__(self, tools: Iterable[ValidatedTool], *, only_reading: bool = False) -> None:
        self._only_reading = only_reading
        self._sources: dict[str, Sequence[ValidatedTool]] = {}
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
        self._fixed = self._tools
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

    def replace(self, source: str, tools: Sequence[ValidatedTool]) -> None:
        """Offer these tools of a source, such as a server, in place of its earlier ones.

        They stand behind the tools of the start, in the order in which their sources were first named, and have no
        commands. Of several tools of one name, the first in this order is offered.
        """
        self._sources[source] = [tool for tool in tools if tool.definition.only_reads or not self._only_reading]
        offered = dict(self._fixed)
        for ones in self._sources.values():
            for tool in ones:
                offered.setdefault(tool.definition.name, tool)
        self._tools = offered
        self.definitions = tuple(tool.definition for tool in offered.values())

    def dropped(self, source: str) -> list[str]:
        """The tools of a source that are not offered, because an earlier one has their name."""
        named = ((tool.definition.name, tool) for tool in self._sources.get(source, ()))
        return [name for name, tool in named if self._tools[name] is not tool]

    def low_risk(self) -> ToolMap:
        """The tools that only read; it will offer no others."""
        return ToolMap((tool for tool in self._tools.values() if tool.definition.only_reads), only_reading=True)
