"""Key names: one prefix, one slot per conversation, sixteen shards for ever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from bot.store.keys import (
    DEAD_LETTER_STREAMS,
    DUE_INDEXES,
    SCRIPT_KINDS,
    Entry,
    Keys,
    pack,
    unpack,
)

conversations = st.one_of(
    st.builds(
        "line:{}:{}:{}".format, st.text(), st.sampled_from(["user", "group", "room"]), st.text()
    ),
    st.builds("slack:{}:{}".format, st.text(), st.text()),
    st.builds("slack:{}:{}:{}".format, st.text(), st.text(), st.text()),
    st.builds("console:{}".format, st.text()),
    st.text(),
)


@given(conversations, st.text())
def test_all_keys_of_a_script_share_a_slot(conversation: str, message_id: str) -> None:
    """A cluster refuses a script whose keys live in different slots, braces in a name included."""
    keys = Keys(conversation)
    names = (
        *map(keys.of, SCRIPT_KINDS),
        keys.seen(message_id),
        keys.history,
        keys.outbox,
        keys.live,
    )
    assert len({key_slot(name.encode()) for name in names}) == 1


@given(conversations)
def test_the_indexes_of_the_shard_are_among_the_keys(conversation: str) -> None:
    """What a script puts into an index, the sweep finds there."""
    keys = dict(zip(SCRIPT_KINDS, map(Keys(conversation).of, SCRIPT_KINDS), strict=True))
    assert keys["due"] in DUE_INDEXES
    assert keys["dead"] in DEAD_LETTER_STREAMS


@pytest.mark.parametrize(
    ("conversation", "shard"),
    [
        ("console:alice", "12"),
        ("line:U0:user:U1", "08"),
        ("slack:T1:C1", "14"),
        ("slack:T1:C1:1700000000.000100", "07"),
    ],
)
def test_a_conversation_keeps_its_shard(conversation: str, shard: str) -> None:
    """The shard is part of stored names: another rule would lose what is stored."""
    assert Keys(conversation).history == f"kaiwa:{{{shard}}}:history:{conversation}"


def test_there_are_sixteen_shards() -> None:
    """Two digits, from 00 to 15."""
    assert list(DUE_INDEXES) == [f"kaiwa:{{{shard:02d}}}:due" for shard in range(16)]
    assert list(DEAD_LETTER_STREAMS) == [f"kaiwa:{{{shard:02d}}}:dead" for shard in range(16)]


def test_every_kind_has_its_own_key() -> None:
    """No two kinds share a name, and every name begins with the prefix."""
    keys = Keys("console:alice")
    names = [*map(keys.of, SCRIPT_KINDS), keys.seen("m1"), keys.live]
    assert len(set(names)) == len(SCRIPT_KINDS) + 2
    assert all(re.match(r"kaiwa:\{\d\d\}:[a-z]+", name) for name in names)


def test_equal_message_ids_of_two_conversations_differ() -> None:
    """A page chooses its own ids; nobody else's message may vanish by that."""
    assert Keys("console:a").seen("1") != Keys("console:b").seen("1")


kinds = st.from_regex(r"[a-z_]+", fullmatch=True)


@given(kinds, st.binary())
def test_what_is_packed_comes_out_unharmed(kind: str, body: bytes) -> None:
    """Any bytes, also those that look like a frame."""
    assert unpack(pack(kind, body)) == Entry(kind, body)


def test_the_frame_tells_the_ids_length_in_bytes() -> None:
    """This form is stored: it stays."""
    assert unpack("arrival 4:é:1{}".encode()) == Entry("arrival", b"{}")
    assert pack("said", b"words") == b"said 0:words"
