"""The facts of one person in one place for tools."""

from __future__ import annotations

from bot.features.memory.store import FACTS, PersonFacts
from bot.pipeline.feature import one_line, store_errors_for_model
from toolset.tool import ToolError

FULL = (
    f"{FACTS} facts are remembered here already: have one deleted first (the person sees all of "
    "them by /memory)"
)


class ToolFacts:
    """What one person has had remembered in one place: a 1:1 chat, a group, a channel with all its
    threads."""

    def __init__(self, facts: PersonFacts) -> None:
        self._facts = facts

    async def remember(self, text: str) -> int:
        """Keep a fact, as one line of visible characters; one that is known already is not kept
        twice.

        Returns:
            Its number, which no other fact of this person gets in this place.

        Raises:
            ToolError: nothing is left of the text, there are too many facts, or the store cannot
                take it.
        """
        if not (line := one_line(text)):
            raise ToolError("invalid parameters: text: write a sentence")
        async with store_errors_for_model():
            number = await self._facts.remember(line)
        if not number:
            raise ToolError(FULL)
        return number

    async def forget(self, number: int) -> bool:
        """Delete a fact, or find it deleted; False where no fact has had this number.

        Raises:
            ToolError: the store does not answer.
        """
        async with store_errors_for_model():
            return await self._facts.forget(number)
