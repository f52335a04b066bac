"""Limits of size: requests are trimmed to the window of their model, answers are capped for
everybody."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from bot.file_types import MIB, kind_of
from bot.providers import (
    TOKEN_BYTES,
    Completed,
    ModelResponse,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from bot.providers.retry_policy import FIRST_TOKEN_PER_MIB_S
from bot.providers.shared.streaming import StreamTooLong
from bot.transcript import SUMMARY_ID, Media, Message, Text, Usage, encode, new_id

MEDIA_TOKENS = 1_000  # roughly what vendors count for a picture
# of a recording or a PDF, for a token: 32 a second for sound, 258 a page or a picture of a film
MEDIA_BYTES = 1_000


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The tokens of messages, rather too many than too few."""
    return sum(map(_tokens, messages))


def patience_for(messages: Sequence[Message]) -> float:
    """The seconds more that a model may need for its first token, because of the files it is
    sent."""
    media = [part for message in messages for part in message.parts if isinstance(part, Media)]
    sizes = (one.size for one in media if (one.data or one.uri) and kind_of(one.mime) != "image")
    return sum(sizes) / MIB * FIRST_TOKEN_PER_MIB_S


def trim_oldest(messages: Sequence[Message], tokens: int) -> Sequence[Message]:
    """The newest turns that fit, always with the turn under way, and with the summary where it fits
    beside them.

    Turns are whole: a turn begins at a user's message after the model's last answer, so no call
    loses its result.
    """
    start = 1 if messages and messages[0].id == SUMMARY_ID else 0
    first, size = start, estimate_tokens(messages)
    for place in range(start + 1, len(messages)):
        if size <= tokens:
            break
        if _begins_turn(messages, place):
            size -= estimate_tokens(messages[first:place])
            first = place
    # A summary that fills more than half was written for a model with a larger window.
    is_kept = (
        size <= tokens or estimate_tokens(messages[:start]) <= tokens // 2 or first == len(messages)
    )
    kept = messages[:start] if is_kept else ()
    return messages if len(kept) == first else [*kept, *messages[first:]]


def _begins_turn(messages: Sequence[Message], place: int) -> bool:
    before = messages[place - 1]
    return messages[place].role == "user" and before.role == "model" and not before.calls


def _tokens(message: Message) -> int:
    media = [part for part in message.parts if isinstance(part, Media)]
    words = replace(
        message,
        parts=tuple(part for part in message.parts if not isinstance(part, Media)),
        footer="",
    )
    return len(encode(words)) // TOKEN_BYTES + sum(map(_media_tokens, media))


def _media_tokens(media: Media) -> int:
    return (
        MEDIA_TOKENS
        if kind_of(media.mime) == "image"
        else max(MEDIA_TOKENS, media.size // MEDIA_BYTES)
    )


TEXT_CAP = 100_000  # characters of an answer; eight messages in Slack
CALLS_CAP = (
    1024 * 1024
)  # characters of all its calls together; twice the largest file that a tool writes
CALL_COSTS = 1_000  # characters added for every call, however short


async def cap_answer(
    events: AsyncGenerator[StreamEvent], model: str, asked: Sequence[Message], most: int = TEXT_CAP
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer; an answer beyond the cap ends there, as if the model had used up
    its tokens.

    A capped answer keeps no calls, and its usage is estimated, as vendors count at the end.

    Args:
        asked: the messages of the request.
        most: characters of the text.
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
                        left_for_calls -= (
                            (CALL_COSTS if call_id else 0) + len(name) + len(arguments)
                        )
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
    message = Message(
        new_id("msg"), "model", (Text(text),) if text else (), time.time_ns() // 1_000_000
    )
    usage = Usage(
        input=estimate_tokens(asked), output=len(text.encode(errors="replace")) // TOKEN_BYTES
    )
    return ModelResponse(message, "max_tokens", usage, model, "longer than anybody reads")
