"""The name and lifetime of every key, and the frame around an entry of inbox or journal.

    kaiwa:{07}:inbox:line:U0b1c:user:U5678

That is: shard, kind, conversation. The shard is crc32(conversation) mod 16 and never changes. Its
braces make it the hash tag: all keys of a conversation and the indexes of its shard share a slot,
so one script may use them.

A frame lets scripts find an entry by its id without decoding its body:

    arrival 18:m-17@1763806429123{"message": …}

That is: kind, length of ``id@time`` in bytes, id, time of acceptance (ms of the store's clock),
body. Steps of a turn have no id, and neither have entries that a turn has given back.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

from bot.clock import DAY_S

FORMAT = 13  # of everything stored; every change of it raises the number
SHARDS = 16

SEEN_S = 3 * DAY_S  # no platform repeats a message after that
WORK_S = 7 * DAY_S  # inbox, journal, outbox and kept deliveries
INDEX_S = 8 * DAY_S  # due index; longer than WORK_S
SCHEDULED_S = 7 * DAY_S  # values of a schedule and their index, after their latest time
DEAD_S = 30 * DAY_S
FILES_S = DAY_S  # files of tool calls
FILES_KEY_S = 2 * DAY_S  # what their addresses are signed with, after its last use
KEPT = 20  # deliveries of one conversation, the newest
DEAD_LETTERS = 250  # per shard: a refused token must not fill the store

PINS = 1_000  # of one MCP server

INBOX_ENTRIES = 200  # of one conversation; beyond this or INBOX_BYTES, messages are refused
INBOX_BYTES = 512 * 1024
EARLY_EDITS = 5  # of one conversation: the newest edits that came before their messages …
EARLY_S = 3_600  # … and how long they wait for these
INBOX_FEW = 4  # entries accepted whatever their size
HISTORY_BYTES = 1024 * 1024  # of one conversation, unless its newest turn alone is larger
# bytes; while all turns are smaller, a history cannot exceed HISTORY_BYTES
HISTORY_SHARE = HISTORY_BYTES // 200

CONVERSATION_KINDS = (
    "lease",
    "inbox",
    "early",
    "turn",
    "journal",
    "history",
    "summary",
    "outbox",
    "kept",
)
SHARD_KINDS = ("due", "dead")
# Names of ``kv`` whose values name a person, each before the channel and the person's id …
PERSON_VALUES = ("profile", "member", "direct", "newest_card")
# … and those whose values may name one, each before a conversation.
CONVERSATION_VALUES = ("card",)
LASTING_KINDS = ("pins", "format")  # never expire: ``pins_key`` and ``FORMAT_KEY`` say why
SCRIPT_KINDS = (*CONVERSATION_KINDS, *SHARD_KINDS)

PREFIXES = tuple(f"kaiwa:{{{shard:02d}}}:" for shard in range(SHARDS))
DUE_INDEXES = tuple(prefix + "due" for prefix in PREFIXES)
DEAD_LETTER_STREAMS = tuple(prefix + "dead" for prefix in PREFIXES)
FORMAT_KEY = PREFIXES[0] + "format"  # never expires: it tells what all other keys hold
# The bundled server has it for a day after it has rewritten its file.
REWRITTEN_KEY = PREFIXES[0] + "rewritten"
HISTORIES = "kaiwa:{*}:history:*"  # the pattern of their keys
FILES = PREFIXES[crc32(b"files") % SHARDS]  # what the keys of files begin with
FILES_INDEX = FILES + "files"
FILES_KEY = FILES + "files_key"  # signs their addresses


class Keys:
    """The keys of one conversation."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._shard = PREFIXES[shard_of(conversation)]

    def of(self, kind: str) -> str:
        """The key of a kind: one of ``SCRIPT_KINDS``, or a feature's."""
        name = kind if kind in SHARD_KINDS else f"{kind}:{self._conversation}"
        return self._shard + name

    @property
    def lease(self) -> str:
        return self.of("lease")

    @property
    def due(self) -> str:
        """The due index of the conversation's shard."""
        return self.of("due")

    @property
    def inbox(self) -> str:
        return self.of("inbox")

    @property
    def journal(self) -> str:
        return self.of("journal")

    @property
    def history(self) -> str:
        return self.of("history")

    @property
    def summary(self) -> str:
        return self.of("summary")

    @property
    def outbox(self) -> str:
        return self.of("outbox")

    @property
    def dead(self) -> str:
        """The dead letters of the conversation's shard."""
        return self.of("dead")

    @property
    def live(self) -> str:
        """A pub/sub channel."""
        return self.of("live")

    def times(self, kind: str) -> str:
        """The times of the values of a schedule, of all conversations of the shard."""
        return f"{self._shard}times:{kind}"

    def seen(self, message_id: str) -> str:
        """Remembers a message id of this conversation: a web page chooses its ids, and must not
        block another's.

        It holds only a digest, because it stays after ``/forget me``.
        """
        return f"{self._shard}seen:{digest_of(self._conversation + chr(0) + message_id, 32)}"

    def unnamed(self, kind: str) -> str:
        """A key that stays after ``/forget me``: it holds only a digest of the conversation."""
        return f"{self._shard}{kind}:{digest_of(self._conversation, 32)}"

    def message(self, message_id: str) -> str:
        """A message's entry in the index of messages; its value is this conversation."""
        return f"{self._shard}message:{digest_of(message_id, 32)}"


def shard_of(conversation: str) -> int:
    return crc32(conversation.encode()) % SHARDS


def message_keys(message_id: str) -> list[str]:
    """The keys of which one may be the index entry of a message whose conversation is unknown; one
    for each shard."""
    return [f"{prefix}message:{digest_of(message_id, 32)}" for prefix in PREFIXES]


def kv_key(name: str) -> str:
    """The key of a value of ``kv``, in a shard by the name.

    It holds a digest of the name: only values can name anybody, and those that do are found by
    ``PERSON_VALUES``, ``CONVERSATION_VALUES`` and the index of what belongs to a person.
    """
    first, _, rest = name.partition(":")
    second, more, _ = rest.partition(":")
    kind = f"{first}:{second}" if more else first
    return f"{PREFIXES[crc32(name.encode()) % SHARDS]}note:{kind}:{digest_of(name, 32)}"


def index_key(digest: str) -> str:
    """The key of the index of what belongs to somebody; the digest is ``digest_of`` them."""
    return f"{PREFIXES[crc32(digest.encode()) % SHARDS]}index:{digest}"


def pins_key(server: str) -> str:
    """The key of the pinned descriptions of an MCP server's tools, which never expires.

    A pin that expired would let a server change what a tool says of itself, as if nobody had seen
    it before. The number of keys is that of the servers an operator names, and each has a limit.
    """
    return f"{PREFIXES[crc32(server.encode()) % SHARDS]}pins:{server}"


def shard_key(shard: int, kind: str, name: str) -> str:
    """A key in the shard of a conversation that it does not name."""
    return f"{PREFIXES[shard]}{kind}:{name}"


def shared_key(kind: str, name: str) -> str:
    """A key of what belongs to no conversation; all of a kind share a slot."""
    return f"{PREFIXES[crc32(kind.encode()) % SHARDS]}{kind}:{name}"


def conversation_of(history_key: str) -> str:
    return history_key.partition("}:history:")[2]


def times_indexes(kind: str) -> list[str]:
    """The times of all values of a schedule; one index for each shard."""
    return [f"{prefix}times:{kind}" for prefix in PREFIXES]


def person_of(place: str, author: str) -> str:
    """Somebody who writes in a place, as an owner in the index: channel and id."""
    return f"{place.partition(':')[0]}:{author}"


def digest_of(text: str, length: int = 16) -> str:
    """How values and keys name idempotency keys, and people: it names nobody."""
    return sha256(text.encode()).hexdigest()[:length]


ARRIVAL = "arrival"  # a message for the model
CHANGE = "change"  # an edit or deletion of an earlier message
CONTROL = "control"  # for the turn under way: /stop, or the approval it waits for
ASIDE = "aside"  # anything else; waits for the end of the turn under way


class Entry(NamedTuple):
    """An entry without its frame; ``kind`` is one word."""

    kind: str
    body: bytes


class InboxEntry(NamedTuple):
    """An entry of the inbox.

    Attributes:
        frame: the stored bytes, which identify it.
        accepted_at: milliseconds by the store's clock; 0 for one that a turn has given back.
    """

    kind: str
    body: bytes
    frame: bytes
    accepted_at: int


def pack(kind: str, body: bytes) -> bytes:
    """Frame a body, without an id."""
    return b"%b 0:%b" % (kind.encode(), body)


def holds(data: bytes, name: str) -> bool:
    """Whether stored bytes, readable or not, hold an id as a whole word."""
    word = rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode())
    return bool(name) and re.search(word, data) is not None


def unpack(frame: bytes) -> Entry:
    kind, _, rest = frame.partition(b" ")
    length, _, rest = rest.partition(b":")
    return Entry(kind.decode(), rest[int(length) :])


def unpack_waiting(frame: bytes) -> InboxEntry:
    """Unpack an entry of the inbox."""
    kind, body = unpack(frame)
    _, _, stamped_id = frame[: len(frame) - len(body)].partition(b":")
    _, stamp, at = stamped_id.rpartition(b"@")
    return InboxEntry(kind, body, frame, int(at) if stamp and at.isdigit() else 0)
