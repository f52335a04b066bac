"""Tool calls without a conversation, by an operator or another program, with the same checks."""

from __future__ import annotations

import time
from typing import Any

from bot.agent.hooks import Hooks
from bot.settings import Settings
from bot.transcript import ToolCall, new_id
from toolset.tool import ToolContext, ToolOutcome
from toolset.tool_map import ToolMap

# The tool's own limit is shorter.
TIMEOUT_S = 60.0
NO_HOOKS = Hooks()


async def call_by_hand(
    tools: ToolMap,
    name: str,
    arguments: dict[str, Any],
    settings: Settings,
    hooks: Hooks = NO_HOOKS,
) -> ToolOutcome:
    """Call a tool with the language and time zone of the settings.

    Raises:
        TurnFailed: a hook would end the turn.
    """
    context = context_by_hand(settings)
    made, outcome = await hooks.before(ToolCall(context.call_id, name, arguments), context)
    outcome = outcome or await tools.call(name, made.arguments, context)
    return await hooks.after(made, context, outcome)


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
