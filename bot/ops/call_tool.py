"""A tool called by an operator instead of a model, with the same checks around it."""

from __future__ import annotations

import time
from typing import Any

from bot.settings import Settings
from bot.transcript import new_id
from toolset.tool import ToolContext, ToolMap, ToolOutcome

PATIENCE_S = 60.0  # a tool's own limit is shorter


async def call_by_hand(tools: ToolMap, name: str, arguments: dict[str, Any], settings: Settings) -> ToolOutcome:
    """Call a tool for somebody whose language and time zone are those of the settings."""
    call_id = new_id("call")
    context = ToolContext(
        call_id=call_id,
        batch_id=call_id,
        call_index=0,
        conversation="",
        user="operator",
        locale=settings.language,
        time_zone=settings.timezone,
        idempotency_key=call_id,
        deadline=time.monotonic() + PATIENCE_S,
    )
    return await tools.call(name, arguments, context)
