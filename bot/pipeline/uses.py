"""The uses of tools that cost money, counted by day and person beside their messages."""

from __future__ import annotations

from bot.errors import StoreUnavailable
from bot.pipeline.limits import Budgets
from toolset.tool import ToolError

UNCOUNTED = "nothing was done: the limit of today cannot be checked just now; try again in a minute"


class ToolUses:
    """The uses of the person who asked (``toolset.stores.Uses``)."""

    def __init__(self, budgets: Budgets, conversation: str, asker: str) -> None:
        self._budgets = budgets
        self._conversation = conversation
        self._asker = asker

    async def take(self, tool: str, limit: int, idempotency_key: str) -> bool:
        """Count a use; False if the limit is reached.

        Raises:
            ToolError: the store does not answer.
        """
        try:
            return await self._budgets.may_use(
                tool, limit, idempotency_key, self._conversation, self._asker
            )
        except StoreUnavailable as error:
            raise ToolError(UNCOUNTED) from error
