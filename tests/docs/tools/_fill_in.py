"""The arguments of ``book_room``: the demo model does not know it, and calls it without any."""

from __future__ import annotations

from bot.hooks import Hook, Intervention, Proceed
from bot.transcript import ToolCall
from toolset.tool import ToolContext

BOOKING = {"at": "18:00", "room": "Room 3"}


class FillIn(Hook):
    """Fills in what the picture shows."""

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        """One booking, whoever asks."""
        return Proceed(BOOKING) if call.name == "book_room" and not call.arguments else None
