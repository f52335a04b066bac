"""The small notes a channel keeps between processes: names looked up, counts, times."""

from __future__ import annotations

from typing import Protocol


class KeyValue(Protocol):
    """Named values with a lifetime. Every method raises ``StoreUnavailable`` where the store does not answer."""

    async def get(self, name: str) -> bytes | None:
        """The value, or None where there is none or its time is over."""
        ...

    async def set(self, name: str, value: bytes, ttl_s: int) -> None:
        """Keep a value for ``ttl_s`` seconds."""
        ...

    async def incr(self, name: str, ttl_s: int) -> int:
        """Count one up and return the count; the lifetime begins anew."""
        ...
