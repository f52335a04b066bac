"""Tool calls without a conversation, by an operator or another program, with the same checks."""

from __future__ import annotations

import time
from typing import Any

from bot.settings import Settings
from bot.transcript import new_id
from toolset.tool import ToolContext, ToolOutcome
from toolset.tool_map import ToolMap

TIMEOUT_S = 60.0  # the tool's own limit is shorter


async def call_by_hand(tools: ToolMap, name: str, arguments: dict[str, Any], settings: Settings) -> ToolOutcome:
    """Call a tool with the language and time zone of the settings."""
    return await tools.call(name, arguments, context_by_hand(settings))


def context_by_hand(settings: Settings) -> ToolContext:
    """The context of one call that belongs to no conversation."""
    call_id = new_id("call")
    return ToolContext(
        call_id=call_id,
        batch_id=call_id,
        call_index=0,
        conversation="",
        user="operator",
        locale=settings.language,
        time_zone=settings.timezone,
        idempotency_key=call_id,
        deadline=time.monotonic() + TIMEOUT_S,
    )
