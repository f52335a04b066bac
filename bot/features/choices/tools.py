"""``offer_choices``: short answers below the bot's answer, which the person may press instead of
writing."""

from __future__ import annotations

from typing import Any

from toolset.shown import Shown, bounded_choices
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError

NO_WORDS = "invalid parameters: write at least two different choices in words"
OFFERED = "below your answer: ask the question there, do not list the choices"


class OfferChoices(Tool):
    """Of several calls in a turn the last one counts."""

    name = "offer_choices"
    description = (
        "Shows two to four buttons below your answer; a press is the person's next message. Use "
        "it at most once in an answer, when you ask something that has few short answers."
    )
    risk = "low"
    titles = words(en="Offer choices", ja="選択肢を示す")
    needs_conversation = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """Offer the choices.

        Raises:
            ToolError: fewer than two are left without those that are the same or have no words.
        """
        choices = bounded_choices(arguments["choices"])
        if not choices:
            raise ToolError(NO_WORDS)
        return Shown({"shown": OFFERED}, choices=choices)
