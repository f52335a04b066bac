"""The name and lifetime of every key.

    kaiwa:{07}:inbox:line:U0b1c:user:U5678

That is: shard, kind, conversation. The shard is crc32(conversation) mod 16 and never changes. Its
braces make it the hash tag: all keys of a conversation and the indexes of its shard share a slot,
so one script may use them.
"""

from __future__ import annotations

from hashlib import sha256
from zlib import crc32

FORMAT = 13  # of everything stored; every change of it raises the number
SHARDS = 16
DAY_S = 86_400

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
HISTORY_SHARE = (
    HISTORY_BYTES // 200
)  # bytes; while all turns are smaller, a history cannot exceed HISTORY_BYTES

FILES_SHARD = crc32(b"files") % SHARDS

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
LASTING_KINDS = ("pins", "format")  # never expire: ``pins_key`` and ``format_key`` say why
SCRIPT_KINDS = (*CONVERSATION_KINDS, *SHARD_KINDS)


class Keys:
    """The keys of one conversation."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._shard = _shard_prefix(shard_of(conversation))

    def of(self, kind: str) -> str:
        """The key of a kind: one of ``SCRIPT_KINDS``, or a feature's."""
        return self._shard + kind if kind in SHARD_KINDS else self._own(kind)

    @property
    def lease(self) -> str:
        return self._own("lease")

    @property
    def due(self) -> str:
        """The due index of the conversation's shard."""
        return self._shard + "due"

    @property
    def inbox(self) -> str:
        return self._own("inbox")

    @property
    def journal(self) -> str:
        return self._own("journal")

    @property
    def history(self) -> str:
        return self._own("history")

    @property
    def summary(self) -> str:
        return self._own("summary")

    @property
    def outbox(self) -> str:
        return self._own("outbox")

    @property
    def dead(self) -> str:
        """The dead letters of the conversation's shard."""
        return self._shard + "dead"

    @property
    def live(self) -> str:
        """A pub/sub channel."""
        return self._own("live")

    def times(self, kind: str) -> str:
        """The times of the values of a schedule, of all conversations of the shard."""
        return f"{self._shard}times:{kind}"

    def seen(self, message_id: str) -> str:
        """Remembers a message id of this conversation: a web page chooses its ids, and must not
        block another's.

        It holds only a digest, because it stays after ``/forget me``.
        """
        return f"{self._shard}seen:{_digest(self._conversation + chr(0) + message_id)}"

    def message(self, message_id: str) -> str:
        """A message's entry in the index of messages; its value is this conversation."""
        return f"{self._shard}message:{_digest(message_id)}"

    def _own(self, kind: str) -> str:
        return f"{self._shard}{kind}:{self._conversation}"


def shard_of(conversation: str) -> int:
    return crc32(conversation.encode()) % SHARDS


def message_keys(message_id: str) -> list[str]:
    """The keys of which one may be the index entry of a message whose conversation is unknown; one
    for each shard."""
    return [f"{_shard_prefix(shard)}message:{_digest(message_id)}" for shard in range(SHARDS)]


def kv_key(name: str) -> str:
    """The key of a value of ``kv``, in a shard by the name.

    It holds a digest of the name: only values can name anybody, and those that do are found by
    ``PERSON_VALUES``, ``CONVERSATION_VALUES`` and the index of what belongs to a person.
    """
    first, _, rest = name.partition(":")
    second, more, _ = rest.partition(":")
    kind = f"{first}:{second}" if more else first
    return f"{_shard_prefix(crc32(name.encode()) % SHARDS)}note:{kind}:{_digest(name)}"


def index_key(digest: str) -> str:
    """The key of the index of what belongs to somebody; the digest is ``digest_of`` them."""
    return f"{_shard_prefix(crc32(digest.encode()) % SHARDS)}index:{digest}"


def pins_key(server: str) -> str:
    """The key of the pinned descriptions of an MCP server's tools, which never expires.

    A pin that expired would let a server change what a tool says of itself, as if nobody had seen
    it before. The number of keys is that of the servers an operator names, and each has a limit.
    """
    return f"{_shard_prefix(crc32(server.encode()) % SHARDS)}pins:{server}"


def format_key() -> str:
    """The key of the format's number, which never expires: it tells what all other keys hold."""
    return f"{_shard_prefix(0)}format"


def rewritten_key() -> str:
    """The key that the bundled server has for a day after it has rewritten its file."""
    return f"{_shard_prefix(0)}rewritten"


def file_key(file_id: str) -> str:
    """The key of a file; all files share a slot."""
    return f"{_shard_prefix(FILES_SHARD)}file:{file_id}"


def files_keys() -> tuple[str, str]:
    """The index of all files, and the key that signs their addresses."""
    prefix = _shard_prefix(FILES_SHARD)
    return f"{prefix}files", f"{prefix}files_key"


def shared_key(kind: str, name: str) -> str:
    """A key of what belongs to no conversation; all of a kind share a slot."""
    return f"{_shard_prefix(crc32(kind.encode()) % SHARDS)}{kind}:{name}"


def history_pattern() -> str:
    """A pattern for the keys of all histories; ``conversation_of`` parses them."""
    return "kaiwa:{*}:history:*"


def conversation_of(history_key: str) -> str:
    return history_key.partition("}:history:")[2]


def due_indexes() -> list[str]:
    return [_shard_prefix(shard) + "due" for shard in range(SHARDS)]


def times_indexes(kind: str) -> list[str]:
    """The times of all values of a schedule; one index for each shard."""
    return [f"{_shard_prefix(shard)}times:{kind}" for shard in range(SHARDS)]


def dead_letter_streams() -> list[str]:
    return [_shard_prefix(shard) + "dead" for shard in range(SHARDS)]


def person_of(place: str, author: str) -> str:
    """Somebody who writes in a place, as an owner in the index: channel and id."""
    return f"{place.partition(':')[0]}:{author}"


def digest_of(text: str) -> str:
    """How values and keys name idempotency keys, and people: it names nobody."""
    return _digest(text)[:16]


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:32]


def _shard_prefix(shard: int) -> str:
    return f"kaiwa:{{{shard:02d}}}:"
