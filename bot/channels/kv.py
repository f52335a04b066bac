"""Small values that a channel shares between processes: looked-up names, counts, times."""

from __future__ import annotations

from typing import Protocol


class KeyValue(Protocol):
    """Named values with a lifetime. Every method raises ``StoreUnavailable`` if the store does not answer."""

    async def get(self, name: str) -> bytes | None:
        """The value, or None if there is none or it has expired."""
        ...

    async def set(self, name: str, value: bytes, ttl_s: int) -> None:
        """Store a value for ``ttl_s`` seconds."""
        ...

    async def incr(self, name: str, ttl_s: int) -> int:
        """Add one to a count and return it; its lifetime begins anew."""
        ...
