"""Cuts an answer that gets longer than anybody reads: a model that does not stop fills neither memory nor history."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bot.providers import TOKEN_BYTES, Completed, ModelResponse, Restarted, StreamEvent, TextDelta, ToolCallDelta
from bot.providers.shared.context_window import estimate_tokens
from bot.providers.shared.sse import StreamTooLong
from bot.transcript import Message, Text, Usage, new_id

WORDS_CAP = 100_000  # characters of an answer; eight messages in Slack
CALLS_CAP = 1024 * 1024  # characters of all its calls together; a file that a tool writes has half of that at most
CALL_COSTS = 1_000  # characters that a call counts for, however little it says


async def cap_answer(
    events: AsyncGenerator[StreamEvent], model: str, asked: Sequence[Message], most: int = WORDS_CAP
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer; one that gets too long ends there, as if the model had used up its tokens.

    Its calls are not made then. What it has cost is reckoned, for the vendor counts at the end.

    Args:
        asked: what the model was sent.
        most: characters of the words.
    """
    words: list[str] = []
    left, left_for_calls = most, CALLS_CAP
    async with aclosing(events):
        try:
            async for event in events:
                match event:
                    case TextDelta(text):
                        words.append(text[:left])
                        left -= len(text)
                    case ToolCallDelta(_, call_id, name, arguments):
                        left_for_calls -= (CALL_COSTS if call_id else 0) + len(name) + len(arguments)
                    case Restarted():
                        words, left, left_for_calls = [], most, CALLS_CAP
                if left_for_calls < 0:
                    break
                if left < 0:
                    if words[-1]:
                        yield TextDelta(words[-1])
                    break
                yield event
            else:
                return
        except StreamTooLong:
            pass
    yield Completed(_cut("".join(words), model, asked))


def _cut(text: str, model: str, asked: Sequence[Message]) -> ModelResponse:
    message = Message(new_id("msg"), "model", (Text(text),) if text else (), time.time_ns() // 1_000_000)
    usage = Usage(input=estimate_tokens(asked), output=len(text.encode(errors="replace")) // TOKEN_BYTES)
    return ModelResponse(message, "max_tokens", usage, model, "longer than anybody reads")
