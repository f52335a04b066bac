"""The small pieces all providers share: time-outs, event streams, whole answers, portable ids and
names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import pytest

from bot.providers import StopReason
from bot.providers.shared.entry import Options
from bot.providers.shared.request import portable_id, portable_name, visible_parts
from bot.providers.shared.response import build_response, merge_texts
from bot.providers.shared.streaming import events_of, with_timeouts
from bot.transcript import Media, Message, Opaque, Text, ToolCall, Usage

CALL = ToolCall("call_1", "a", {})


async def ticking(*waits: float, closed: list[bool]) -> AsyncGenerator[int]:
    """Counts, after waits."""
    try:
        for count, wait in enumerate(waits):
            await asyncio.sleep(wait)
            yield count
    finally:
        closed.append(True)


async def test_events_in_time_pass() -> None:
    """All of them, and the source is closed."""
    closed: list[bool] = []
    assert [
        one
        async for one in with_timeouts(
            ticking(0, 0, 0, closed=closed), 5, Options(request_timeout_s=5)
        )
    ] == [
        0,
        1,
        2,
    ]
    assert closed == [True]


async def test_only_the_first_event_must_be_early() -> None:
    """What follows has the time of the whole answer."""
    assert [
        one
        async for one in with_timeouts(
            ticking(0, 0.05, closed=[]), 0.02, Options(request_timeout_s=5)
        )
    ] == [
        0,
        1,
    ]


@pytest.mark.parametrize(("waits", "before"), [((60.0,), []), ((0.0, 60.0), [0])])
async def test_a_late_event_ends_the_stream(waits: Sequence[float], before: list[int]) -> None:
    """The first and the last have a time each; the source is closed at once."""
    closed: list[bool] = []
    seen_before: list[int] = []
    with pytest.raises(TimeoutError):
        await _gather(
            with_timeouts(ticking(*waits, closed=closed), 0.02, Options(request_timeout_s=0.04)),
            seen_before,
        )
    assert (seen_before, closed) == (before, [True])


async def _gather(events: AsyncGenerator[int], into: list[int]) -> None:
    async for event in events:
        into.append(event)


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    """A body as it comes in."""
    for piece in pieces:
        yield piece


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("line", [b"\n", b"\r\n"])
async def test_events_are_read_from_any_pieces(size: int, line: bytes) -> None:
    """Comments and other fields are left out; what is not ended by a blank line counts too."""
    body = line.join(
        [
            b": keep alive",
            b"",
            b"event: message",
            b'data: {"a": 1}',
            b"",
            b"data: x",
            b"data:y",
            b"",
            b"data: [DONE]",
        ]
    )
    pieces = [body[place : place + size] for place in range(0, len(body), size)]
    assert [event async for event in events_of(pieces_of(*pieces))] == [
        b'{"a": 1}',
        b"x\ny",
        b"[DONE]",
    ]


async def test_plain_json_is_one_event() -> None:
    """An error without the form."""
    assert [event async for event in events_of(pieces_of(b'{"error":', b" {}}\n"))] == [
        b'{"error": {}}'
    ]


@pytest.mark.parametrize(
    ("parts", "reason", "settled", "stored"),
    [
        ([Text("a"), Text(""), Text("b")], "end_turn", "end_turn", (Text("ab"),)),
        ([Text("a"), CALL, Text("b")], "end_turn", "tool_use", (Text("a"), CALL, Text("b"))),
        ([Text("a")], "tool_use", "end_turn", (Text("a"),)),
        ([Text(" \n")], "end_turn", "malformed", (Text(" \n"),)),
        ([], "tool_use", "malformed", ()),
        ([Text("a"), CALL], "max_tokens", "max_tokens", (Text("a"),)),
        ([Text("a"), CALL], "blocked", "blocked", (Text("a"),)),
        ([CALL], "other", "other", ()),
    ],
)
def test_an_answer_is_settled(
    parts: list[Text | ToolCall],
    reason: StopReason,
    settled: StopReason,
    stored: tuple[object, ...],
) -> None:
    """By what it holds; only a complete one keeps its calls."""
    opaque = Opaque("p", "m", b"x")
    made = build_response(parts, reason, model="m-1", usage=Usage(1), opaque=opaque, detail="why")
    assert (made.stop_reason, made.message.parts, made.model, made.usage) == (
        settled,
        stored,
        "m-1",
        Usage(1),
    )
    assert (made.message.role, made.message.opaque) == ("model", opaque)
    assert made.detail == ("" if settled in ("end_turn", "tool_use") else "why")


def test_pieces_of_text_are_merged() -> None:
    """Around calls, never across them."""
    assert merge_texts([Text("a"), Text("b"), CALL, Text(""), Text("c")]) == (
        Text("ab"),
        CALL,
        Text("c"),
    )


def test_ids_are_portable() -> None:
    """Short and plain ones stay, all others get one that is always the same."""
    stored, long, odd = "call_abc-1", "x" * 41, "functions.get_weather:0"
    made = [portable_id(one) for one in (stored, long, odd, "")]
    assert made == [portable_id(one) for one in (stored, long, odd, "")]
    assert made[0] == stored
    assert len(set(made)) == 4
    assert {len(one) for one in made[1:]} == {37}


def test_names_are_portable() -> None:
    """What no vendor takes becomes an underscore."""
    assert [portable_name(name) for name in ("get_weather", "functions.天気", "x" * 70, "")] == [
        "get_weather",
        "functions___",
        "x" * 64,
        "_",
    ]


def test_a_user_shows_words_and_pictures() -> None:
    """What a model cannot see is said in a word."""
    picture, gone = Media("1", "image/png", data=b"x"), Media("2", "image/png")
    video = Media("3", "video/mp4", data=b"x")
    message = Message(
        "m", "user", (Text("Look"), Text(""), picture, gone, video), 1, context="[Monday]"
    )
    words = [
        Text("[Monday]"),
        Text("Look"),
        picture,
        Text("[image: not available]"),
        Text("[video: not available]"),
    ]
    assert list(visible_parts(message)) == words
