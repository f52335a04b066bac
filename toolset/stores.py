"""What a tool may keep in the store for the person who asks, and for the place: ``ToolContext`` has
one of each.

A second call with the same ``idempotency_key`` changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FindStore = Callable[[type[Any]], Any]  # finds what a feature keeps, by its class; None if nothing


def find_no_store(kind: type[Any]) -> None:
    """Find nothing (``FindStore``)."""


class Uses:
    """The uses of tools that cost money: how many the person who asked has had today; here none is
    counted."""

    async def take(self, tool: str, limit: int, idempotency_key: str) -> bool:
        """Count a use, that of one key once; False if the limit is reached. A limit of 0 is none.

        Raises:
            ToolError: the store does not answer.
        """
        return True
