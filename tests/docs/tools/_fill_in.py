"""The arguments of ``remind``: the demo model, which knows no such tool, calls it without any."""

from __future__ import annotations

from bot.hooks import Hook, Intervention, Proceed
from bot.transcript import ToolCall
from toolset.tool import ToolContext

REMINDER = {"at": "18:00", "text": "Call Hanako about the trip to Kyoto"}


class FillIn(Hook):
    """Fills in what the picture shows."""

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        """One reminder, whoever asks."""
        return Proceed(REMINDER) if call.name == "remind" and not call.arguments else None
