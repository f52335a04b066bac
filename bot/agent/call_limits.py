"""The limits of a turn's tool calls: how many there may be, and how much all of them may read."""

from __future__ import annotations

from collections.abc import Sequence

from bot.transcript import Message, ToolCall, ToolResult

MOST_CALLS = 24  # of one response
MOST_CALLS_OF_TURN = 64
MOST_READ = 512 * 1024  # bytes of all results of a turn
TOO_MANY_CALLS = (
    f"not called: a response may have {MOST_CALLS} calls, and a turn {MOST_CALLS_OF_TURN}. Answer "
    "with what you have."
)
TOO_MUCH_READ = (
    "too much was read in this turn: this result is left out. Answer with what you have."
)


def calls_beyond(calls: Sequence[ToolCall], before: Sequence[Message]) -> Sequence[ToolCall]:
    """The calls of a response that are not made.

    Args:
        before: the turn's messages before the response.
    """
    earlier = sum(min(len(message.calls), MOST_CALLS) for message in before)
    return calls[max(0, min(MOST_CALLS, MOST_CALLS_OF_TURN - earlier)) :]


def not_made(call: ToolCall) -> ToolResult:
    """The result of a call that is not made."""
    return ToolResult(call.id, call.name, {"error": TOO_MANY_CALLS}, is_error=True)


def left_out(result: ToolResult) -> ToolResult:
    """What takes the place of a result that is too much. The call was made, so its files stay."""
    return ToolResult(
        result.call_id, result.name, {"error": TOO_MUCH_READ}, is_error=True, files=result.files
    )
