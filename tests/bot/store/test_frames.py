"""The frame around entries: whatever is put in comes out, and scripts can find the id."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.store.keys import Entry, pack, unpack

kinds = st.from_regex(r"[a-z_]+", fullmatch=True)


@given(kinds, st.binary())
def test_what_is_packed_comes_out_unharmed(kind: str, body: bytes) -> None:
    """Any bytes, also those that look like a frame."""
    assert unpack(pack(kind, body)) == Entry(kind, body)


def test_the_frame_tells_the_ids_length_in_bytes() -> None:
    """This form is stored: it stays."""
    assert unpack("arrival 4:é:1{}".encode()) == Entry("arrival", b"{}")
    assert pack("said", b"words") == b"said 0:words"
