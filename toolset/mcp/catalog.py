"""A server's list as tools of Kaiwa: their names, their schemas, their risk."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from toolset.mcp.answer import Answer, response_of, response_schema
from toolset.mcp.config import ServerConfig, usable
from toolset.mcp.pins import OWN_NAME_CAP, ListedTool
from toolset.mcp.schema import plain_schema
from toolset.shown import Shown
from toolset.tool import (
    EVERY,
    NAME_CAP,
    NoConfig,
    Risk,
    Tool,
    ToolContext,
    ToolSetupError,
    ValidatedTool,
)
from toolset.web.text import one_line

DESCRIPTION_CAP = 1_000
CALL_S = 30.0
REASON_CAP = 200
# A report shows so many characters of a server's own words.
SHOWN_CAP = 80
# A name that is too long becomes its beginning and digits of a digest.
BEGINNING, DIGITS = 55, 8
ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# References of a schema lead there.
ROOTS = {"$defs", "definitions"}

Call = Callable[[ListedTool, dict[str, Any]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tools of one server.

    Attributes:
        listed: what the server lists, with its tools' own names.
        made: the tools that are offered, by digest, in the order of the list.
        left_out: by the tool's own name, why it is not offered.
        changed: own names of tools that differ from their pins, or whose pins are unknown.
    """

    listed: tuple[ListedTool, ...] = ()
    made: Mapping[str, ValidatedTool] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    @property
    def tools(self) -> list[ValidatedTool]:
        """The tools that are offered."""
        return list(self.made.values())


class RemoteTool:
    """A tool of a server."""

    foreign = True
    Config = NoConfig

    def __init__(
        self, config: ServerConfig, listed: ListedTool, risk: Risk, call: Call, *, unaccepted: bool
    ) -> None:
        server = config.name
        if len(listed.name) > OWN_NAME_CAP:
            raise ToolSetupError(f"its name has more than {OWN_NAME_CAP} characters")
        self.name = tool_name(server, listed.name)
        self.description = (
            one_line(listed.description)[:DESCRIPTION_CAP] or f"{listed.name} of {server}"
        )
        self.risk: Risk = risk
        self.addresses = () if config.is_trusted else EVERY
        self.unaccepted = unaccepted
        self.timeout_s = CALL_S
        self.parameters = plain_schema(listed.parameters)
        for name in self.parameters.get("properties", ()):
            if not ARGUMENT.fullmatch(name):
                raise ToolSetupError(
                    f"its argument {shown(name)!r} has a name that models cannot use"
                )
        self._declared = None
        if listed.response is not None:
            self._declared = _data_schema(listed.response)
        self.response = response_schema(self._declared)
        self._listed = listed
        self._server = server
        self._call = call

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        answer = await self._call(self._listed, arguments)
        return response_of(answer, self._server, self.name, self._declared)


def make_catalog(
    config: ServerConfig,
    listed: Iterable[ListedTool],
    pins: Mapping[str, str] | None,
    call: Call,
    old: Catalog,
) -> Catalog:
    """The tools that a server lists. It takes milliseconds for a tool that is not in ``old``.

    Args:
        pins: digests by the tools' own names; None where they are unknown.
    """
    every = tuple(listed)
    changed: dict[str, None] = {}
    for one in every:
        if pins is None or pins.get(one.name) != one.digest:
            changed[one.name] = None
    made: dict[str, ValidatedTool] = {}
    left_out: dict[str, str] = {}
    names: set[str] = set()
    for one in every:
        unaccepted, digest = one.name in changed, one.digest
        risk: Risk = "high"
        if config.is_trusted and one.says_it_reads and not unaccepted:
            risk = "low"
        known = old.made.get(digest)
        try:
            names.add(_free_name(config, one, names))
            if known is not None and (known.definition.risk, known.definition.unaccepted) == (
                risk,
                unaccepted,
            ):
                made[digest] = known
            else:
                made[digest] = _validated(config, one, risk, call, unaccepted=unaccepted)
        except ToolSetupError as error:
            left_out[one.name] = shown(str(error), REASON_CAP)
    return Catalog(every, made, left_out, tuple(changed))


def _free_name(config: ServerConfig, tool: ListedTool, taken: Collection[str]) -> str:
    """The tool's name, which belongs to it alone, whichever servers are there at the moment.

    Raises:
        ToolSetupError: it belongs to another tool or server.
    """
    if usable(f"{config.name}_{tool.name}").startswith(config.others):
        raise ToolSetupError("its name begins like those of another server")
    if (name := tool_name(config.name, tool.name)) in taken:
        raise ToolSetupError("another tool of the server has the same name")
    return name


def tool_name(server: str, tool: str) -> str:
    """The name of a server's tool for the model."""
    whole = f"{server}_{tool}"
    name = usable(whole)
    if len(name) <= NAME_CAP:
        return name
    return f"{name[:BEGINNING]}_{sha256(whole.encode(errors='replace')).hexdigest()[:DIGITS]}"


def shown(text: str, cap: int = SHOWN_CAP) -> str:
    """A server's words in a report."""
    return one_line(text)[:cap]


def _validated(
    config: ServerConfig, listed: ListedTool, risk: Risk, call: Call, *, unaccepted: bool
) -> ValidatedTool:
    tool = RemoteTool(config, listed, risk, call, unaccepted=unaccepted)
    # A tool's attributes are its class's; those of a server's tool are known when it is made, and
    # nothing creates it.
    return ValidatedTool(
        cast(Tool, tool), tool.parameters, tool.response, f"MCP server {config.name}", own=False
    )


def _data_schema(schema: Any) -> dict[str, Any]:
    """The schema of structured content; since 2026-07-28 it may be any value."""
    if not isinstance(schema, dict):
        raise ToolSetupError("its outputSchema is invalid")
    wrapped = {
        "type": "object",
        "properties": {"data": schema},
        **{key: schema[key] for key in ROOTS & schema.keys()},
    }
    inner: dict[str, Any] = plain_schema(wrapped)["properties"]["data"]
    return inner
