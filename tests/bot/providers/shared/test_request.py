"""Media in a request's JSON: their base64 is made while it is sent."""

from __future__ import annotations

import tracemalloc
from base64 import b64encode

import pytest

from bot.providers.shared.request import PIECE, Attachments, Body, length_of
from bot.transcript import encode

MIB = 1024 * 1024


async def read(body: bytes | Body) -> bytes:
    return body if isinstance(body, bytes) else b"".join([piece async for piece in body])


@pytest.mark.parametrize("size", [1, 2, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 2])
async def test_a_body_is_what_it_would_be_with_the_base64_in_it(size: int) -> None:
    """Whatever the size; its length is known before it is made, and it can be made again."""
    data, other = b"a" * size, b"b"
    attachments = Attachments("model")
    words = [f"data:{attachments.stand_in(one)}" for one in (data, other, data)]
    body = attachments.body(encode({"said": words}))
    expected = encode({"said": [f"data:{b64encode(one).decode()}" for one in (data, other, data)]})
    assert await read(body) == await read(body) == expected
    assert length_of(body) == {"content-length": str(len(expected))}


async def test_what_stands_in_for_the_same_data_is_the_same() -> None:
    """Requests are compared before they are sent again."""
    attachments, data = Attachments("model"), b"a"
    assert (
        attachments.stand_in(data)
        == attachments.stand_in(data)
        != Attachments("model").stand_in(data)
    )


async def test_words_bring_no_picture_into_a_request() -> None:
    """What stands in for it cannot be guessed, and another request's is but a word."""
    attachments, data = Attachments("model"), b"a"
    json = encode([Attachments("model").stand_in(data), f"<-{id(data)}>"])
    assert attachments.body(json) == json
    assert length_of(json) == {}
    attachments.stand_in(data)
    assert attachments.body(json) == json


async def test_a_large_picture_is_not_copied() -> None:
    """What is made of it at once is a piece."""
    attachments, data, size = Attachments("model"), b"a" * 12 * MIB, 0
    tracemalloc.start()
    try:
        body = attachments.body(encode([attachments.stand_in(data)]))
        assert isinstance(body, Body)
        async for piece in body:
            size += len(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == body.size == 16 * MIB + 4
    assert peak < MIB
