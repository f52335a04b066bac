"""What conversations whose processes die have in common: the store, the door, and tools that count
their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, NamedTuple

from redis.asyncio import Redis

from bot.store import Store
from tests.bot.harness import Harness
from tests.fakes.tools import Echo, tool_map
from toolset.tool import Risk, ToolContext


class Called(NamedTuple):
    """A call of a tool, by its argument ``n``."""

    conversation: str
    tool: str
    n: int


class CrashRig:
    """What the conversations of a test share.

    Args:
        store, redis: not by way of a wire that is cut.
        server: the server's URL.

    Attributes:
        called: the tool calls made so far.
        reported: by conversation, who wants to know of its calls.
    """

    def __init__(self, store: Store, redis: Redis, server: str) -> None:
        self.store = store
        self.redis = redis
        self.server = server
        harness = Harness(store, ())
        self.accept = harness.intake
        self.services = harness.runner.services
        self.called: list[Called] = []
        self.reported: dict[str, Callable[[str], Awaitable[None]]] = {}
        self.tools = tool_map(Lookup(self), Stamp(self), Launch(self), Drill(self))


class Lookup(Echo):
    """Reads, so that it may be called again."""

    name: ClassVar[str] = "lookup"

    def __init__(self, rig: CrashRig) -> None:
        super().__init__()
        self._rig = rig

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self._rig.called.append(Called(context.conversation, self.name, arguments["n"]))
        await self._rig.reported[context.conversation]("call")
        return await super().call(arguments, context)


class Stamp(Lookup):
    """Leaves a trace each time it is called."""

    name: ClassVar[str] = "stamp"
    idempotent: ClassVar[bool] = False


class Launch(Lookup):
    """Acts."""

    name: ClassVar[str] = "launch"
    risk: ClassVar[Risk] = "high"


class Drill(Launch):
    """Acts for ever."""

    name: ClassVar[str] = "drill"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        await super().call(arguments, context)
        await asyncio.Event().wait()
        return {}
