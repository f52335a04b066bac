"""What was first seen of the tools of each MCP server: one hash for each server, from a tool's name
to its digest."""

from __future__ import annotations

from collections.abc import Mapping

from bot.store.clients import Client, ask, translate_errors
from bot.store.keys import PINS, pins_key
from bot.store.queues import Command
from bot.store.scripts import Scripts


class ToolPins:
    """Pins by server. They never expire."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def pin(self, server: str, digests: Mapping[str, str]) -> dict[str, str]:
        """Pin the tools that have no pin, up to ``PINS``; the pins of all of them, by tool. A full
        store takes no pin."""
        if not digests:
            return {}
        known = await self.read(server)
        new = [name for name in digests if name not in known][: max(0, PINS - len(known))]
        key = pins_key(server)
        requests: list[Command] = [("HSETNX", key, name, digests[name]) for name in new]
        async with translate_errors():
            *_, pinned = await self._client.execute_each([*requests, ("HMGET", key, *digests)])
        return {
            name: (digest or b"").decode() for name, digest in zip(digests, pinned, strict=True)
        }

    async def read(self, server: str) -> dict[str, str]:
        """The pins of a server, by tool."""
        pinned = await ask(self._client, "HGETALL", pins_key(server))
        return {name.decode(): digest.decode() for name, digest in pinned.items()}

    async def accept(self, server: str, digests: Mapping[str, str]) -> None:
        """Replace the pins of a server."""
        key = pins_key(server)
        fields = [("HSET", key, name, digest) for name, digest in digests.items()]
        await self._scripts.transact([("DEL", key), *fields])
