"""What was first seen of the tools of each MCP server: one hash for each server, from a tool's name
to its digest."""

from __future__ import annotations

from collections.abc import Mapping

from bot.store.clients import Client, translate_errors
from bot.store.keys import PINS, pins_key

# A full store takes no new pin, and a tool without a pin counts as changed.
PIN = """#!lua
local pinned, pins, room = {}, KEYS[1], tonumber(ARGV[1]) - redis.call('HLEN', KEYS[1])
for index = 2, #ARGV, 2 do
    local digest = redis.call('HGET', pins, ARGV[index])
    if not digest and room > 0 then
        digest, room = ARGV[index + 1], room - 1
        redis.call('HSET', pins, ARGV[index], digest)
    end
    pinned[#pinned + 1] = digest or ''
end
return pinned
"""
ACCEPT = """#!lua
redis.call('DEL', KEYS[1])
for index = 1, #ARGV, 2 do
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
end
"""


class ToolPins:
    """Pins by server. They never expire."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def pin(self, server: str, digests: Mapping[str, str]) -> dict[str, str]:
        """Pin the tools that have no pin, up to ``PINS``; the pins of all of them, by tool."""
        if not digests:
            return {}
        async with translate_errors():
            pinned = await self._client.eval(PIN, 1, pins_key(server), PINS, *_flat(digests))
        return {name: digest.decode() for name, digest in zip(digests, pinned, strict=True)}

    async def read(self, server: str) -> dict[str, str]:
        """The pins of a server, by tool."""
        async with translate_errors():
            (pinned,) = await self._client.execute_later(("HGETALL", pins_key(server)))
        return {name.decode(): digest.decode() for name, digest in pinned.items()}

    async def accept(self, server: str, digests: Mapping[str, str]) -> None:
        """Replace the pins of a server."""
        async with translate_errors():
            await self._client.eval(ACCEPT, 1, pins_key(server), *_flat(digests))


def _flat(digests: Mapping[str, str]) -> list[str]:
    return [text for pair in digests.items() for text in pair]
