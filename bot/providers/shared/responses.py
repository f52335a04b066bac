"""When an answer is whole: the rules about stop reasons, words and calls that hold for every vendor."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby

from bot.providers import ModelResponse, StopReason
from bot.transcript import Message, Opaque, Text, ToolCall, Usage, new_id

USUAL = ("end_turn", "tool_use")


def build_response(
    parts: Sequence[Text | ToolCall],
    reason: StopReason,
    *,
    model: str,
    usage: Usage,
    opaque: Opaque | None = None,
    detail: str = "",
) -> ModelResponse:
    """A finished answer.

    Only a complete answer keeps its calls: those of a cut or blocked one are never run. One without words and without
    calls is malformed. Whether a vendor calls the end of an answer with calls its end or a call makes no difference.

    Args:
        parts: words and calls in the vendor's order; pieces of one text may come apart.
        model: the id of the model that answered.
        detail: what the vendor said about an unusual stop.
    """
    settled = _settled(parts, reason)
    kept = merge_texts(parts if settled == "tool_use" else [part for part in parts if isinstance(part, Text)])
    message = Message(new_id("msg"), "model", kept, time.time_ns() // 1_000_000, opaque=opaque)
    return ModelResponse(message, settled, usage, model, "" if settled in USUAL else detail)


def merge_texts(parts: Iterable[Text | ToolCall]) -> tuple[Text | ToolCall, ...]:
    """The pieces of one text put together, without empty ones."""
    whole: list[Text | ToolCall] = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
        if not is_text:
            whole += group
        elif words := "".join(part.text for part in group if isinstance(part, Text)):
            whole.append(Text(words))
    return tuple(whole)


def _settled(parts: Sequence[Text | ToolCall], reason: StopReason) -> StopReason:
    if reason not in USUAL:
        return reason
    if any(isinstance(part, ToolCall) for part in parts):
        return "tool_use"
    return "end_turn" if any(isinstance(part, Text) and part.text.strip() for part in parts) else "malformed"
