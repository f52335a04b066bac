"""The small pieces all providers share: time-outs, event streams, whole answers, portable ids and
names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import nullcontext

import pytest

from bot.errors import TryAgain
from bot.providers import Request, StopReason, TextDelta
from bot.providers.shared.entry import Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import portable_id, portable_name, visible_parts
from bot.providers.shared.streaming import (
    Answer,
    Opened,
    build_response,
    events_of,
    stream_answer,
)
from bot.transcript import Media, Message, Opaque, Text, ToolCall, Usage

CALL = ToolCall("call_1", "a", {})


STOP_REASONS: dict[str, StopReason] = {"x": "end_turn"}


class Words(Answer):
    """An answer in which each event is text."""

    stop_reasons = STOP_REASONS

    def take(self, data: bytes) -> Iterator[TextDelta]:
        self._finish = "x"
        self._texts.append(data.decode())
        yield TextDelta(data.decode())

    def _opaque(self, parts: object, reason: StopReason) -> None:
        return None


async def ticking(*waits: float, closed: list[bool]) -> AsyncGenerator[bytes]:
    """Words, after waits."""
    try:
        for count, wait in enumerate(waits):
            await asyncio.sleep(wait)
            yield b"%d" % count
    finally:
        closed.append(True)


async def words_in_time(
    *waits: float, first_s: float, all_s: float, closed: list[bool]
) -> AsyncIterator[str]:
    """What is streamed within two limits."""

    async def send(*_: object) -> Opened:
        return nullcontext(), ticking(*waits, closed=closed)

    def each(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
        assert isinstance(pieces, AsyncGenerator)
        return pieces

    failures = Failures("m", "KEY", "")
    request = Request("", (), first_token_timeout_s=first_s)
    options = Options(request_timeout_s=all_s)
    async for event in stream_answer(send, request, Words("m", failures), failures, options, each):
        if isinstance(event, TextDelta):
            yield event.text


@pytest.mark.parametrize(
    ("waits", "first_s"),
    [((0, 0, 0), 5), ((0, 0.05), 0.02)],
    ids=["all", "only the first is early"],
)
async def test_events_in_time_pass(waits: Sequence[float], first_s: float) -> None:
    """What follows the first has the time of the whole answer; the source is closed."""
    closed: list[bool] = []
    words = words_in_time(*waits, first_s=first_s, all_s=5, closed=closed)
    assert [int(one) async for one in words] == list(range(len(waits)))
    assert closed == [True]


@pytest.mark.parametrize(("waits", "before"), [((60.0,), []), ((0.0, 60.0), ["0"])])
async def test_a_late_event_ends_the_stream(waits: Sequence[float], before: list[str]) -> None:
    """The first and the last have a time each; the source is closed at once."""
    closed: list[bool] = []
    words = words_in_time(*waits, first_s=0.02, all_s=0.04, closed=closed)
    seen = [await anext(words) for _ in before]
    with pytest.raises(TryAgain) as raised:
        await anext(words)
    assert (raised.value.apology, seen, closed) == ("timed_out", before, [True])


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
        (
            [Text("a"), Text("b"), CALL, Text(""), Text("c")],
            "tool_use",
            "tool_use",
            (Text("ab"), CALL, Text("c")),
        ),
        ([Text("a"), CALL, Text("b")], "max_tokens", "max_tokens", (Text("ab"),)),
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
