"""Requests that are too long for a model: what was said first is left out, whole turns at a time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bot.providers import TOKEN_BYTES
from bot.transcript import SUMMARY_ID, Media, Message, encode

MEDIA_TOKENS = 1_000  # roughly what vendors reckon for a picture


def estimate_tokens(messages: Sequence[Message]) -> int:
    """How many tokens messages take, roughly and rather too many."""
    return sum(map(_tokens, messages))


def trim_oldest(messages: Sequence[Message], tokens: int) -> Sequence[Message]:
    """The newest turns that fit; the turn under way is kept in any case, and so is a summary that leaves room for it.

    Between a call and its result there is no place to cut: a turn begins where a user speaks and the model has
    finished before.
    """
    start = 1 if messages and messages[0].id == SUMMARY_ID else 0
    first, size = start, estimate_tokens(messages)
    for place in range(start + 1, len(messages)):
        if size <= tokens:
            break
        if _begins_turn(messages, place):
            size -= estimate_tokens(messages[first:place])
            first = place
    # A summary that fills half of it was written for a model that reads more.
    is_kept = size <= tokens or estimate_tokens(messages[:start]) <= tokens // 2 or first == len(messages)
    kept = messages[:start] if is_kept else ()
    return messages if len(kept) == first else [*kept, *messages[first:]]


def _begins_turn(messages: Sequence[Message], place: int) -> bool:
    before = messages[place - 1]
    return messages[place].role == "user" and before.role == "model" and not before.calls


def _tokens(message: Message) -> int:
    media = [part for part in message.parts if isinstance(part, Media)]
    words = replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Media)))
    return len(encode(words)) // TOKEN_BYTES + MEDIA_TOKENS * len(media)
