"""Notes within one process, for tests that need no Redis (``bot.channels.KeyValue``)."""

from __future__ import annotations

from bot.errors import StoreUnavailable


class LocalKeyValue:
    """Keeps notes with their lifetimes, and can be away like a store."""

    def __init__(self) -> None:
        self.away = False
        self.stored: dict[str, bytes] = {}
        self.lives: dict[str, int] = {}

    def prefetch(self, name: str) -> None:
        """Nothing is far away here."""

    async def get(self, name: str) -> bytes | None:
        self._reach()
        return self.stored.get(name)

    async def set(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        self._reach()
        self.stored[name] = value
        self.lives[name] = ttl_s

    def set_later(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        if not self.away:
            self.stored[name] = value
            self.lives[name] = ttl_s

    async def incr(self, name: str, ttl_s: int) -> int:
        self._reach()
        count = int(self.stored.get(name, b"0")) + 1
        self.stored[name] = str(count).encode()
        self.lives[name] = ttl_s
        return count

    def _reach(self) -> None:
        if self.away:
            raise StoreUnavailable("away")
