"""Every key's name and how long it lives.

    kaiwa:{07}:inbox:line:U0b1c:user:U5678

That is shard, kind, conversation. The shard is crc32(conversation) mod 16, fixed for ever; its braces make it the hash
tag, so that all keys of a conversation and the indexes of its shard share one slot and may meet in one script.
"""

from __future__ import annotations

import re
from hashlib import sha256
from zlib import crc32

SHARDS = 16
DAY_S = 86_400

SEEN_S = 3 * DAY_S  # no platform sends a message again after that
WORK_S = 7 * DAY_S  # inbox, journal and outbox
SEEN_BEFORE_S = 600  # a seen-key by the name that earlier versions look for: as long as a deploy takes
INDEX_S = 8 * DAY_S  # due index and fence: they outlive the work they guard
DEAD_S = 30 * DAY_S
SPENT_S = 2 * DAY_S  # what counts against a day's limit: the day has ended everywhere by then
TOTALS_S = 35 * DAY_S  # the whole bot's day, for the operator: longer than any month
DEAD_LETTERS = 250  # kept per shard, so that a refused token cannot fill the store

INBOX_ENTRIES = 200  # of one conversation; beyond these, and beyond these bytes, messages are left out
INBOX_BYTES = 512 * 1024
INBOX_FEW = 4  # entries that get in whatever their size
HISTORY_BYTES = 1024 * 1024  # of one conversation, where the newest turn alone is not more
HISTORY_SHARE = HISTORY_BYTES // 200  # of a turn: no number of turns that is kept can be too much where all are smaller

CONVERSATION_KINDS = ("lease", "inbox", "turn", "journal", "history", "summary", "outbox", "forgetting")
SHARD_KINDS = ("due", "dead", "fence", "forgotten")
SCRIPT_KINDS = (*CONVERSATION_KINDS, *SHARD_KINDS)


class Keys:
    """The keys of one conversation."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._shard = _shard_prefix(shard_of(conversation))

    @property
    def for_scripts(self) -> tuple[str, ...]:
        """What every script gets, in the order of ``SCRIPT_KINDS``."""
        return (*map(self._own, CONVERSATION_KINDS), *(self._shard + kind for kind in SHARD_KINDS))

    @property
    def lease(self) -> str:
        return self._own("lease")

    @property
    def fence(self) -> str:
        return self._own("fence")

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

    def seen(self, message_id: str) -> str:
        """The conversation is part of it: a page chooses its own message ids, and must not use up another's.

        It bears a digest of both, for it outlives a wish to be forgotten.
        """
        return f"{self._shard}seen:{_digest(self._conversation + chr(0) + message_id)}"

    def seen_before(self, message_id: str) -> str:
        """The name by which earlier versions know a message, while some of their processes still run."""
        return f"{self._own('seen')}:{message_id}"

    def _own(self, kind: str) -> str:
        return f"{self._shard}{kind}:{self._conversation}"


def shard_of(conversation: str) -> int:
    return crc32(conversation.encode()) % SHARDS


def kv_key(name: str) -> str:
    """The key of a value of ``kv``: it belongs to no conversation, and its name chooses the shard."""
    return f"{_shard_prefix(crc32(name.encode()) % SHARDS)}note:{name}"


def history_pattern() -> str:
    """A pattern for all histories; ``conversation_of`` reads them."""
    return "kaiwa:{*}:history:*"


def conversation_of(history_key: str) -> str:
    return history_key.partition("}:history:")[2]


def slot_of(key: str) -> str:
    """The beginning that all keys of a shard have in common: those may be asked for together."""
    return key.partition("}")[0]


def spent_key(day: str, scope: str, name: str) -> str:
    """A day's counter. It bears a digest of the name only: it outlives a wish to be forgotten."""
    return f"{_shard_prefix(crc32(name.encode()) % SHARDS)}spent:{day}:{scope}:{_digest(name)[:16]}"


def totals_keys(day: str) -> tuple[str, str, str]:
    """What the whole bot has used on a day; its ranking of users, and that of conversations. They share a slot."""
    prefix = f"{_shard_prefix(crc32(b'totals') % SHARDS)}totals:{day}"
    return prefix, f"{prefix}:users", f"{prefix}:conversations"


def personal_pattern(name: str) -> str:
    """A pattern for all keys that may be a person's; ``is_personal`` decides."""
    literally = re.sub(r"([*?\[\]\\])", r"\\\1", name)
    return f"kaiwa:*:*{literally}*"


def is_personal(key: str, channel: str, name: str) -> bool:
    """Whether a key only remembers a person of a channel: their name must be a whole part of it, not a piece of one.

    Fences of single conversations are those of earlier versions.
    """
    kind, *parts = key.split(":")[2:]
    return kind in ("seen", "note", "fence") and {channel, name} <= set(parts)


def kv_pattern() -> str:
    """A pattern for all keys of ``kv``; ``kv_name`` reads them."""
    return "kaiwa:{*}:note:*"


def kv_name(key: str) -> str:
    return key.partition("}:note:")[2]


def due_indexes() -> list[str]:
    return [_shard_prefix(shard) + "due" for shard in range(SHARDS)]


def dead_letter_streams() -> list[str]:
    return [_shard_prefix(shard) + "dead" for shard in range(SHARDS)]


def forgotten_marks() -> list[str]:
    """Where each shard marks that something was deleted which its server's files may still hold."""
    return [_shard_prefix(shard) + "forgotten" for shard in range(SHARDS)]


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:32]


def _shard_prefix(shard: int) -> str:
    return f"kaiwa:{{{shard:02d}}}:"
