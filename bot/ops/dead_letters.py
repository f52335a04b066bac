"""``kaiwa outbox``: lists dead letters, puts them back, deletes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from msgspec import DecodeError, Struct

from bot.checks import CheckResult, ago
from bot.errors import BadInput
from bot.pipeline.journal import decode_delivery, decode_event, reset_attempts
from bot.store import DeadLetter, DeadLetters, Store
from bot.terminal import printable
from bot.transcript import channel_of

LONGEST_NAME = 24
NAME_END = 10

Kind = Literal["answer", "turn", "unreadable"]


class Described(Struct, frozen=True):
    """A dead letter, decoded.

    Attributes:
        kind: an answer that was not delivered, a turn that was given up, or bytes that this version
            cannot decode.
        at: when it was given up.
        words: the answer, or the text of the turn's first message that has one.
        messages: number of the turn's messages.
    """

    id: str
    kind: Kind
    at: datetime
    conversation: str
    reason: str
    words: str = ""
    messages: int = 0


class Overview(Struct, frozen=True):
    """The newest dead letters.

    Attributes:
        count: of all dead letters.
        conversations_waiting: conversations that are due now or later.
    """

    dead_letters: list[Described]
    count: int
    conversations_waiting: int


async def overview(store: Store, limit: int) -> Overview:
    """The newest dead letters, newest first, and how many conversations are due."""
    depths = await store.depths()
    letters = await store.dead_letters.read(limit)
    return Overview(list(map(describe, letters)), depths.dead_letters, depths.due)


def describe(letter: DeadLetter) -> Described:
    """Decode a dead letter; bytes that cannot be decoded are ``unreadable``."""
    kind, words = _read(letter)
    at = datetime.fromtimestamp(letter.at / 1000, UTC)
    return Described(
        id=letter.id,
        kind=kind,
        at=at,
        conversation=letter.conversation,
        reason=letter.reason,
        words=words,
        messages=len(letter.arrivals),
    )


def _read(letter: DeadLetter) -> tuple[Kind, str]:
    try:
        if letter.delivery is not None:
            return "answer", decode_delivery(letter.delivery).reply.text
        messages = [decode_event(body).message for body in letter.arrivals]
    except (DecodeError, UnicodeDecodeError):
        messages = []
    if not messages:
        return "unreadable", ""
    return "turn", next((message.text for message in messages if message.text), "")


def rows(letters: Iterable[Described], now: int) -> list[tuple[str, str, str, str, str]]:
    """Id, age, conversation, what it is and why, each on one line.

    Args:
        now: milliseconds since the epoch, by the store's clock.
    """
    found = []
    for letter in letters:
        where, age = _short(letter.conversation), ago(_ms(letter.at), now)
        found.append((letter.id, age, where, _line(_what(letter)), _line(letter.reason)))
    return found


def _what(letter: Described) -> str:
    if letter.kind == "unreadable":
        return "cannot be read"
    if letter.kind == "answer":
        return f"answer: {letter.words}"
    if letter.messages == 1:
        return f"asked: {letter.words}"
    return f"asked ({letter.messages} messages): {letter.words}"


async def find(store: DeadLetters, ids: Iterable[str]) -> list[DeadLetter]:
    """The dead letters of these ids.

    Raises:
        BadInput: one of them does not exist.
    """
    found: list[DeadLetter] = []
    missing: list[str] = []
    for letter_id in dict.fromkeys(ids):
        letter = await store.get(letter_id)
        if letter is None:
            missing.append(letter_id)
        else:
            found.append(letter)
    if missing:
        raise BadInput(
            f"no such dead letter: {', '.join(missing)}; kaiwa outbox list shows those there are"
        )
    return found


async def put_back(store: DeadLetters, chosen: Iterable[DeadLetter]) -> list[CheckResult]:
    """Send answers again and answer messages again, oldest first."""
    ordered = sorted(chosen, key=lambda one: (one.at, int(one.id.rpartition("-")[2])))
    return [await _put_back(store, letter) for letter in ordered]


async def _put_back(store: DeadLetters, letter: DeadLetter) -> CheckResult:
    kind, _ = _read(letter)
    if kind == "unreadable":
        return CheckResult(
            "failure", letter.id, "cannot be read", f"kaiwa outbox discard {letter.id} deletes it"
        )
    delivery, what = b"", "messages"
    if letter.delivery is not None:
        delivery, what = reset_attempts(letter.delivery), "answer"
    if not await store.revive(letter, delivery):
        return _missing(letter)
    where = _short(letter.conversation)
    return CheckResult("ok", letter.id, f"{what} put back, {where}")


async def discard(store: DeadLetters, chosen: Iterable[DeadLetter]) -> list[CheckResult]:
    results = []
    for letter in chosen:
        if await store.discard(letter):
            results.append(CheckResult("ok", letter.id, "deleted"))
        else:
            results.append(_missing(letter))
    return results


def _missing(letter: DeadLetter) -> CheckResult:
    return CheckResult("failure", letter.id, "somebody else has taken or deleted it meanwhile")


def _short(conversation: str) -> str:
    """The conversation's id; a long one as its channel and end."""
    if len(conversation) <= LONGEST_NAME:
        return conversation
    return f"{channel_of(conversation)}:…{conversation[-NAME_END:]}"


def _line(text: str) -> str:
    return " ".join(printable(text).split())


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
