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

# Vendors count roughly so many for a picture.
MEDIA_TOKENS = 1_000
# So many bytes of a recording or a PDF count as a token: vendors count 32 tokens a second of sound,
# and 258 a page or a picture of a film.
MEDIA_BYTES = 1_000


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The tokens of messages, rather too many than too few."""
    return sum(map(_tokens, messages))


def patience_for(messages: Sequence[Message]) -> float:
    """The seconds more that a model may need for its first token, because of the files it is
    sent."""
    size = 0
    for message in messages:
        for part in message.parts:
            if not isinstance(part, Media) or kind_of(part.mime) == "image":
                continue
            if part.data or part.uri:
                size += part.size
    return size / MIB * FIRST_TOKEN_PER_MIB_S


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
    keeps_summary = (
        size <= tokens or estimate_tokens(messages[:start]) <= tokens // 2 or first == len(messages)
    )
    summary = messages[:start] if keeps_summary else ()
    if len(summary) == first:
        return messages
    return [*summary, *messages[first:]]


def _begins_turn(messages: Sequence[Message], place: int) -> bool:
    before = messages[place - 1]
    return messages[place].role == "user" and before.role == "model" and not before.calls


def _tokens(message: Message) -> int:
    tokens = 0
    others = []
    for part in message.parts:
        if isinstance(part, Media):
            tokens += _media_tokens(part)
        else:
            others.append(part)
    words = replace(message, parts=tuple(others), footer="")
    return len(encode(words)) // TOKEN_BYTES + tokens


def _media_tokens(media: Media) -> int:
    if kind_of(media.mime) == "image":
        return MEDIA_TOKENS
    return max(MEDIA_TOKENS, media.size // MEDIA_BYTES)


# An answer has so many characters at most: eight messages in Slack.
TEXT_CAP = 100_000
# All calls of an answer have so many characters together at most: twice the largest file that a
# tool writes.
CALLS_CAP = 1024 * 1024
# Every call counts so many characters more, however short it is.
CALL_COSTS = 1_000


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
                        left_for_calls -= len(name) + len(arguments)
                        if call_id:
                            left_for_calls -= CALL_COSTS
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
    parts = (Text(text),) if text else ()
    message = Message(new_id("msg"), "model", parts, time.time_ns() // 1_000_000)
    usage = Usage(
        input=estimate_tokens(asked), output=len(text.encode(errors="replace")) // TOKEN_BYTES
    )
    return ModelResponse(message, "max_tokens", usage, model, "longer than anybody reads")
