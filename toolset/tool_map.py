"""The tools on offer, by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from toolset.offer.rules import EVERYTHING, Rule, select
from toolset.offer.search import FindTools
from toolset.schema import shortened
from toolset.tool import (
    NAME_CAP,
    ToolContext,
    ToolDefinition,
    ToolOutcome,
    ToolSetupError,
    ValidatedTool,
    read_schemas,
)

# Bytes of all own declarations, beyond which those with keywords are searched for.
MOST_OWN = 10_000
MANY = 20  # tools from elsewhere that are all declared
MOST = 40  # of them that a request declares otherwise
MOST_BYTES = 64 * 1024  # of their definitions in a request, unless a single one has more
ARRIVAL_S = 30.0  # of a call, for a tool that is expected
MOST_OFFERS = 64  # that are remembered
FIND_TOOLS = FindTools.name


class ToolMap(Mapping[str, ValidatedTool]):
    """The tools on offer, by name.

    Args:
        rules: which of them a place and a person are offered.
        only_reading: no others are ever offered.

    Raises:
        ToolSetupError: two tools of one name, or of one command.

    Attributes:
        commands: the name of the tool that a command calls, by the command's word.
        definitions: of all tools, ``find_tools`` left out.
        rules: as given.
    """

    def __init__(
        self,
        tools: Iterable[ValidatedTool],
        rules: Sequence[Rule] = (),
        *,
        only_reading: bool = False,
    ) -> None:
        self.rules = rules
        self.commands: dict[str, str] = {}
        self._only_reading = only_reading
        self._sources: dict[str, Sequence[ValidatedTool]] = {}
        self._expected: dict[str, asyncio.Event] = {}
        self._fixed: dict[str, ValidatedTool] = {}
        for tool in tools:
            name = tool.definition.name
            if name in self._fixed or name == FIND_TOOLS:
                raise ToolSetupError(f"two tools are named {name}")
            self._fixed[name] = tool
            for word in tool.commands:
                if (other := self.commands.setdefault(word, name)) != name:
                    same = f"the tools {other} and {name} have the same command"
                    raise ToolSetupError(f"{same}: {word}")
        self._offer(self._fixed)

    def __getitem__(self, name: str) -> ValidatedTool:
        return self._tools[name]

    def title(self, name: str, locale: str) -> str:
        """What people call a tool, in the language of a locale; empty where it has no title or is
        gone."""
        title = self._tools[name].definition.title(locale) if name in self._tools else ""
        return "" if title == name else title

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolOutcome:
        """Call a tool by the name that the model used; an unknown name is an error outcome."""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(each.name for each in self.definitions if self._is_known(each))
            return ToolOutcome.error(
                f"unknown tool: {shortened(name, NAME_CAP)}. Available tools: {known}"
            )
        return await tool.call(arguments, context)

    async def forget(self, conversation: str) -> int:
        """Let every tool delete what it keeps of a conversation; returns the number of deleted
        files."""
        deleted = 0
        for tool in self._tools.values():
            deleted += await tool.forget(conversation)
        return deleted

    def offered(self, used: Callable[[], Iterable[str]]) -> tuple[ToolDefinition, ...]:
        """The definitions for a request: the usual ones, ``find_tools``, and what was searched for.

        Searched for are Kaiwa's own tools with keywords, where all its own have more than 10,000
        bytes, and the others, where these are more than 20 or have more than 64 KiB. What was sent
        stays where it is when more is found, so that a vendor's cache of the beginning holds, until
        the oldest make room.

        Args:
            used: the names of tools that were called or found, the first one first.

        Returns:
            The same object for the same tools, which providers write once.
        """
        if FIND_TOOLS not in self._tools:
            return self.definitions
        named = list(dict.fromkeys(name for name in used() if name in self._searched))
        in_use = self._newest(named) if named else ()
        if in_use not in self._offers:
            if len(self._offers) == MOST_OFFERS:
                self._offers.clear()
            usual = [each for each in self.definitions if each.name not in self._searched]
            found = [self._searched[name] for name in in_use]
            self._offers[in_use] = (*usual, self._tools[FIND_TOOLS].definition, *found)
        return self._offers[in_use]

    def of_place(self, conversation: str, user: str, also: Iterable[Rule] = ()) -> ToolMap:
        """The tools that the rules offer in a conversation to a person.

        Args:
            also: rules that must offer a tool too, whomever they name.
        """
        first = next((rule for rule in self.rules if rule.matches(conversation, user)), EVERYTHING)
        rules = [rule for rule in (first, *also) if rule is not EVERYTHING]
        return self._view(rules) if rules else self

    def _view(self, rules: Sequence[Rule]) -> ToolMap:
        """The tools that all these rules offer, made once."""
        key = tuple((rule.tools, tuple(sorted(rule.risk.items()))) for rule in rules)
        if key not in self._views:
            if len(self._views) == MOST_OFFERS:
                self._views.clear()
            self._views[key] = ToolMap(select(rules, self._without_search()))
        return self._views[key]

    def replace(self, source: str, tools: Sequence[ValidatedTool]) -> None:
        """Offer these tools of a source, such as a server, in place of its earlier ones.

        They stand behind the tools of the start, in the order in which their sources were first
        named, and have no commands. Of several tools of one name, the first in this order is
        offered.
        """
        self._sources[source] = [
            tool for tool in tools if tool.definition.only_reads or not self._only_reading
        ]
        offered = dict(self._fixed)
        for ones in self._sources.values():
            for tool in ones:
                if tool.definition.name != FIND_TOOLS:
                    offered.setdefault(tool.definition.name, tool)
        self._offer(offered)

    def expect(self, prefix: str, listed: asyncio.Event) -> None:
        """Tools whose names begin so come later: until the event, if at all."""
        self._expected[prefix] = listed

    async def arrival(self, names: Iterable[str], deadline: float) -> None:
        """Wait for those of these tools that are expected, as for a call that was approved before a
        restart.

        Args:
            deadline: ``time.monotonic()`` seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(min(ARRIVAL_S, deadline - time.monotonic())):
                for name in names:
                    prefix = max(
                        (one for one in self._expected if name.startswith(one)), key=len, default=""
                    )
                    if name not in self._tools and prefix:
                        await self._expected[prefix].wait()

    async def wait_until_listed(self, deadline: float) -> None:
        """Wait until every source that is expected has listed its tools, or has failed.

        Args:
            deadline: ``time.monotonic()`` seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline - time.monotonic()):
                for listed in self._expected.values():
                    await listed.wait()

    def dropped(self, source: str) -> list[str]:
        """The tools of a source that are not offered, because an earlier one has their name."""
        dropped = []
        for tool in self._sources.get(source, ()):
            if self._tools.get(tool.definition.name) is not tool:
                dropped.append(tool.definition.name)
        return dropped

    def of_start(self) -> ToolMap:
        """The tools that were given at the start, without those of sources that come and go."""
        return ToolMap(self._fixed.values(), self.rules, only_reading=self._only_reading)

    def low_risk(self) -> ToolMap:
        """The tools that only read; it will offer no others."""
        read = (tool for tool in self._without_search() if tool.definition.only_reads)
        return ToolMap(read, self.rules, only_reading=True)

    def _is_known(self, tool: ToolDefinition) -> bool:
        """Whether a list names the tool; of many others it names none."""
        return tool.own or tool.name not in self._searched

    def _offer(self, tools: Mapping[str, ValidatedTool]) -> None:
        self._tools = dict(tools)
        self._views: dict[Hashable, ToolMap] = {}
        self._offers: dict[tuple[str, ...], tuple[ToolDefinition, ...]] = {}
        self.definitions = tuple(tool.definition for tool in tools.values())
        self._searched = _searched(tools.values())
        if self._searched:
            # Its description tells of these tools, so it is no class variable.
            search: Any = FindTools(tuple(self._searched.values()))
            self._tools[FIND_TOOLS] = ValidatedTool(search, *read_schemas(FIND_TOOLS))

    def _newest(self, names: Sequence[str]) -> tuple[str, ...]:
        """As many of the last ones as a request may declare, at least one."""
        room, first = MOST_BYTES, len(names)
        for name in reversed(names[-MOST:]):
            room -= self._tools[name].size
            if room < 0 and first < len(names):
                break
            first -= 1
        return tuple(names[first:])

    def _without_search(self) -> list[ValidatedTool]:
        return [self._tools[each.name] for each in self.definitions]


def _searched(tools: Iterable[ValidatedTool]) -> dict[str, ToolDefinition]:
    """The tools that are not declared before they were found or called, by name."""
    own: list[ValidatedTool] = []
    others: list[ValidatedTool] = []
    for tool in tools:
        (own if tool.definition.own else others).append(tool)
    searched: list[ValidatedTool] = []
    if sum(tool.size for tool in own) > MOST_OWN:
        searched += [tool for tool in own if tool.definition.keywords]
    if len(others) > MANY or sum(tool.size for tool in others) > MOST_BYTES:
        searched += others
    return {tool.definition.name: tool.definition for tool in searched}
