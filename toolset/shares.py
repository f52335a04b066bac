"""How much each may have at once, so that nobody takes all there is from everybody else."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class Shares:
    """Semaphores by owner, all of the same size; an unused one takes no memory.

    Args:
        most: at once for each owner.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._semaphores: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._semaphores)

    def of(self, owner: str) -> asyncio.Semaphore:
        """The owner's semaphore, the same one while anybody holds it or waits for it."""
        semaphore = self._semaphores.get(owner)
        if semaphore is None:
            semaphore = asyncio.Semaphore(self._most)
            self._semaphores[owner] = semaphore
        return semaphore
