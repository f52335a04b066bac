"""JSON from outside: what is mended, what is refused, and one exception for all that is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolset.web.decoding import MOST_BYTES, decode_json


class Point(msgspec.Struct):
    """A kind of value."""

    x: int


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a": [1, null]}', {"a": [1, None]}),
        ('"東京"', "東京"),
        (rb'"\ud83d\ude00 \ude00 \ud83d \\ud83d"', "\N{GRINNING FACE} � � \\ud83d"),
        (b'"\xed\xa0\xbd"', "�"),
        ('"\ud83d"', "�"),
    ],
    ids=["a mark", "a text", "halves in escapes", "a half in bytes", "a half in a text"],
)
def test_what_has_a_meaning_is_read(data: bytes | str, value: Any) -> None:
    """Half a surrogate pair becomes U+FFFD."""
    assert decode_json(data) == value


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"<html>", b'{"a":', b"[NaN]", b"-Infinity", b"[1e999]", b'"\xff"'),
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b" " * (MOST_BYTES + 1),
    ],
    ids=["empty", "page", "cut", "nan", "infinite", "range", "no text", "lists", "objects", "size"],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    """By one exception, whatever is wrong: also by Python 3.11, which reads fewer levels."""
    with pytest.raises(msgspec.DecodeError):
        decode_json(data)


def test_another_kind_is_refused() -> None:
    """And told apart from what is no JSON; fields that nobody reads may be nested deeply."""
    assert decode_json(b'{"x": 1, "y": []}', Point) == Point(1)
    with pytest.raises(msgspec.ValidationError):
        decode_json(b'{"x": "1"}', Point)
    with pytest.raises(msgspec.DecodeError, match="too deeply"):
        decode_json(b'{"y": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", Point)


@pytest.mark.parametrize(
    "data", [rb'"\ud83d"', b'"\xed\xa0\xbd"', '"\ud83d"'], ids=["escape", "bytes", "text"]
)
def test_whoever_runs_what_is_written_has_halves_refused(data: bytes | str) -> None:
    """No tool gets an argument that the model did not write."""
    with pytest.raises(msgspec.DecodeError):
        decode_json(data, mends=False)


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_nothing_else_escapes(data: bytes | str) -> None:
    """Whatever is sent, what is read can be sent on."""
    try:
        value = decode_json(data)
    except msgspec.DecodeError:
        return
    assert decode_json(msgspec.json.encode(value)) == value
