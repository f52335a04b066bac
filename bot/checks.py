"""Results of checks: the lines of ``kaiwa doctor``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Result = Literal["ok", "off", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the report; ``fix`` says how to repair it, or what could be set."""

    result: Result
    name: str
    detail: str
    fix: str = ""


class Examined(NamedTuple):
    """What ``kaiwa doctor`` has opened for the checks of a feature.

    Attributes:
        store, tools: ``bot.store.Store``, ``toolset.tool_map.ToolMap``.
        open_model: opens one by its name, as ``provider:model``.
        of_servers: how the names of tools begin that MCP servers have, which are not asked.
    """

    store: Any
    tools: Mapping[str, Any]
    open_model: Callable[[str], AbstractAsyncContextManager[Any]]
    of_servers: tuple[str, ...] = ()


def ago(at: int, now: int) -> str:
    """The time since ``at`` (milliseconds), in its largest unit."""
    if not at:
        return "not noted"
    seconds = max(now - at, 0) // 1_000
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
