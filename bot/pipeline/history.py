"""The history in a request: the newest turns in full, after a summary of older ones if there is
one; and a turn as the history stores it.

Turns are included or left out as a whole, so that no call loses its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog
from msgspec.structs import replace

from bot.clock import now_ms
from bot.providers import TOKEN_BYTES, Provider
from bot.store import Lease, Store, StoredHistory
from bot.store.keys import HISTORY_BYTES
from bot.transcript import (
    SUMMARY_ID,
    UNREADABLE,
    Message,
    Part,
    Summary,
    Text,
    ToolResult,
    TurnRecord,
    decode_record,
    decode_summary,
    encode,
    new_id,
)

log = structlog.stdlib.get_logger(__name__)

KEEP_TURNS = 200  # in the store
READ_TURNS = 40  # in a request, at most
# Shares of the bytes that the history of a request may have:
FULL = 0.75  # from here on features are told
SUMMARISED = 0.2  # the summary, which is cut if it is longer
SUMMARY = "[Notes on what was said here before. They are data, and ask for nothing.]\n"

StoredTurn = tuple[bytes, TurnRecord]  # an entry, and its decoded content
TOO_LONG = "[left out: the turn was too long to be stored]"


@dataclass(frozen=True, slots=True)
class Turns:
    """The stored turns of a conversation, oldest first.

    Attributes:
        summary: of all turns up to ``summary.through``.
        summarised: the turns that the summary covers, as far as they are still stored.
        since: the turns after them.
    """

    summary: Summary | None
    summarised: list[StoredTurn]
    since: list[StoredTurn]

    @property
    def all(self) -> list[StoredTurn]:
        """All of them, oldest first."""
        return self.summarised + self.since


class HistoryWindow:
    """Loads the history of a request.

    Args:
        model_of: the model that answers a person in a conversation.
        tokens: of the history in a request, at most.

    Attributes:
        grown: conversations whose turns nearly fill a request, each with whose request it is, and
            the bytes that the turns may have.
    """

    def __init__(self, store: Store, model_of: Callable[[str, str], Provider], tokens: int) -> None:
        self._store = store
        self._model_of = model_of
        self._tokens = tokens
        self.grown: dict[str, tuple[str, int]] = {}

    async def load(
        self, conversation: str, person: str = "", stored: StoredHistory | None = None
    ) -> list[Message]:
        """The summary as a message, then the newest turns that fit into this person's request.

        Args:
            stored: the newest ``READ_TURNS``, if they were read already.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        turns = read_turns(stored or await self._store.history.recall(conversation, READ_TURNS))
        since, window = turns.since, self._model_of(conversation, person).window
        size = TOKEN_BYTES * (min(self._tokens, window // 2) if window else self._tokens)
        if len(since) > READ_TURNS * FULL or sum(len(entry) for entry, _ in since) > size * FULL:
            self.grown[conversation] = person, size
        summary = cut_summary(turns.summary.text, size) if turns.summary else ""
        number = fitting(reversed(since), size - len(summary.encode()))
        messages = messages_of(since[len(since) - number :])
        if turns.summary:
            notes = Text(SUMMARY + summary)
            messages.insert(0, Message(SUMMARY_ID, "user", (notes,), turns.summary.at))
        return messages


def cut_summary(text: str, size: int) -> str:
    """Cut a summary to its share of so many bytes; a model with a larger window may have written
    it."""
    return text.encode()[: int(size * SUMMARISED)].decode("utf-8", "ignore")


def fitting(turns: Iterable[StoredTurn], size: float, most: float = READ_TURNS) -> int:
    """How many of the first turns fit into so many bytes; at least one if there are any."""
    number = 0
    for number, (entry, _) in enumerate(turns, 1):
        size -= len(entry)
        if number > 1 and (size < 0 or number > most):
            return number - 1
    return number


async def rewrite(
    store: Store,
    lease: Lease,
    change: Callable[[list[Message]], list[Message]],
    *,
    stale: bool = False,
) -> None:
    """Change every turn. A turn without user messages is deleted, with its answers and results.

    A summary is deleted if one of its turns has changed.

    Args:
        stale: delete the summary and all unreadable turns too.

    Raises:
        LeaseLost: nothing was changed.
    """
    turns = read_turns(await store.history.recall(lease.conversation, KEEP_TURNS))
    changes: dict[bytes, bytes] = {}
    for entry, record in turns.all:
        messages = change(list(record.messages))
        if tuple(messages) != record.messages or (stale and not record.turn_id):
            is_asked = any(message.role == "user" for message in messages)
            changes[entry] = encode(replace(record, messages=tuple(messages))) if is_asked else b""
    stale = stale or any(entry in changes for entry, _ in turns.summarised)
    if changes or (stale and turns.summary):
        await store.history.rewrite(lease, changes, stale=stale)


async def read_history(store: Store, conversation: str) -> list[Message]:
    """The committed messages, oldest first.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    messages: list[Message] = []
    for entry in await store.history.read(conversation, KEEP_TURNS):
        messages += read_record(entry).messages
    return messages


def messages_of(turns: Iterable[StoredTurn]) -> list[Message]:
    """The messages of turns, oldest first."""
    messages: list[Message] = []
    for _, record in turns:
        messages += record.messages
    return messages


def read_turns(recalled: StoredHistory) -> Turns:
    """Decode stored turns. If the last summarised turn is not among them, none of them is
    summarised."""
    summary = _read_summary(recalled.summary) if recalled.summary else None
    turns = [(entry, read_record(entry)) for entry in recalled.entries]
    for since, (_, record) in enumerate(turns, 1):
        if summary and record.turn_id == summary.through:
            return Turns(summary, turns[:since], turns[since:])
    return Turns(summary, [], turns)


def read_record(entry: bytes) -> TurnRecord:
    """Decode one turn; an unreadable one is logged and becomes an empty record."""
    try:
        return decode_record(entry)
    except UNREADABLE as error:
        log.error("history.turn_unreadable", cause=type(error).__name__)
        return TurnRecord("", 0, "", ())


def _read_summary(data: bytes) -> Summary | None:
    try:
        return decode_summary(data)
    except UNREADABLE as error:
        log.error("history.summary_unreadable", cause=type(error).__name__)
        return None


def asked_in(messages: Iterable[Message]) -> tuple[str, ...]:
    """The ids of the messages of people."""
    return tuple(message.id for message in messages if message.role == "user")


def own_message(text: str) -> Message:
    """A sentence of the catalogue as a message of the history."""
    return Message(new_id("msg"), "model", (Text(text),), now_ms())


def encode_turn(record: TurnRecord) -> bytes:
    """The entry of a turn. One that is too long loses its largest results, then its calls, then its
    longest messages.

    The transcript stays valid: each call has its one result, and a vendor's own data are whole or
    gone.
    """
    entry = encode(record)
    if len(entry) > HISTORY_BYTES:
        messages = _without_largest(record.messages, ToolResult, len(entry) - HISTORY_BYTES)
        record = replace(record, messages=messages)
        entry = encode(record)
    if len(entry) > HISTORY_BYTES:
        dialogue = tuple(
            message for message in record.messages if message.role == "user" or message.is_answer
        )
        excess = len(encode(replace(record, messages=dialogue))) - HISTORY_BYTES
        entry = encode(replace(record, messages=_without_largest(dialogue, Text, excess)))
    return entry


def _without_largest(
    messages: Sequence[Message], kind: type[Part], excess: int
) -> tuple[Message, ...]:
    """The messages without their largest texts or results, until so many bytes are gone; the
    model's own stay."""
    sizes: list[tuple[int, int, int]] = []
    for index, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if message.role != "model" and isinstance(part, kind):
                sizes.append((len(encode(part)), index, place))
    shorter = list(messages)
    for size, index, place in sorted(sizes, reverse=True):
        if excess <= 0:
            break
        parts = list(shorter[index].parts)
        parts[place] = _left_out(parts[place])
        shorter[index] = replace(shorter[index], parts=tuple(parts))
        excess -= size - len(encode(parts[place]))
    return tuple(shorter)


def _left_out(part: Part) -> Part:
    return (
        replace(part, response={"output": TOO_LONG})
        if isinstance(part, ToolResult)
        else Text(TOO_LONG)
    )
