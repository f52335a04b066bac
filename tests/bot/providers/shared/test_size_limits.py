"""An answer that gets too long is cut while it is written, whoever wrote it and however it
comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable

import pytest
from msgspec.json import encode

from bot.providers import Completed, StreamEvent, TextDelta, ToolCallDelta
from bot.providers.anthropic.response import Answer as AnthropicAnswer
from bot.providers.fallback import FallbackProvider
from bot.providers.gemini.response import Answer as GeminiAnswer
from bot.providers.json_mode.response import GrowingReply, read
from bot.providers.openai.response import Answer as OpenAIAnswer
from bot.providers.scripted import Scripted, Step
from bot.providers.shared.failures import Failures
from bot.providers.shared.streaming import (
    CALLS_CAP,
    STREAM_CAP,
    TEXT_CAP,
    Calls,
    StreamTooLong,
    cap_answer,
    events_of,
    lines_of,
)
from bot.telemetry import Metrics
from tests.bot.providers.asking import ask, user
from tests.growth import SHAPES, assert_grows, assert_linear

FAILURES = Failures("model", "KEY", "")


class Endless:
    """A model that does not stop; it counts what it was asked for."""

    def __init__(self, event: StreamEvent) -> None:
        self.written = 0
        self.closed = False
        self._event = event

    async def stream(self) -> AsyncGenerator[StreamEvent]:
        try:
            while True:
                self.written += 1
                yield self._event
        finally:
            self.closed = True


async def last_of(model: Endless) -> tuple[str, Completed]:
    """The words that were shown, and the end."""
    shown = []
    async for event in cap_answer(model.stream(), "endless", [user("hi")]):
        if isinstance(event, TextDelta):
            shown.append(event.text)
    assert isinstance(event, Completed)
    return "".join(shown), event


@pytest.mark.parametrize("piece", ["w", "words ", "日本語", "w" * 250_000])
async def test_words_end_at_their_cap(piece: str) -> None:
    """What is shown is what is kept; the model is not asked to go on, and what it wrote is
    reckoned."""
    model = Endless(TextDelta(piece))
    shown, end = await last_of(model)
    assert shown == end.response.message.text == (piece * (TEXT_CAP // len(piece) + 1))[:TEXT_CAP]
    assert (end.response.stop_reason, end.response.model) == ("max_tokens", "endless")
    assert end.response.usage.output > TEXT_CAP // 4
    assert end.response.usage.input > 0
    assert model.closed
    assert model.written <= TEXT_CAP // len(piece) + 1


@pytest.mark.parametrize(
    "delta",
    [ToolCallDelta(0, "", "", "x" * 1_000), ToolCallDelta(0, "c", "echo", "{}")],
    ids=["long", "many"],
)
async def test_calls_end_at_theirs(delta: ToolCallDelta) -> None:
    """None of them is made."""
    model = Endless(delta)
    shown, end = await last_of(model)
    assert (shown, end.response.message.parts, end.response.stop_reason) == ("", (), "max_tokens")
    assert model.closed
    assert model.written <= CALLS_CAP // 1_000 + 1


async def test_every_model_is_cut() -> None:
    """The one who asks again is who counts."""
    asked = await ask(
        FallbackProvider([Scripted([Step("word " * TEXT_CAP)])], Metrics()), [user("hi")]
    )
    assert len(asked.text) == TEXT_CAP
    assert asked.response.stop_reason == "max_tokens"


async def test_an_answer_of_usual_length_passes_as_it_is() -> None:
    """To the last letter of the cap."""
    text = "w" * TEXT_CAP
    asked = await ask(FallbackProvider([Scripted([Step(text)])], Metrics()), [user("hi")])
    assert (asked.text, asked.response.stop_reason) == (text, "end_turn")


async def pieces_of(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def endless_pieces(piece: bytes) -> AsyncIterator[bytes]:
    while True:
        yield piece


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    [b"x" * 65_536, b": " + b"x" * 65_536 + b"\n\n", b"data: " + b"x" * 65_536 + b"\n\n"],
)
async def test_a_stream_without_end_is_not_read_to_its_end(piece: bytes) -> None:
    """Whether it has events or not."""
    taken: list[int] = []

    async def take() -> None:
        async for data in events_of(endless_pieces(piece)):
            taken.append(len(data))

    with pytest.raises(StreamTooLong):
        await take()
    assert sum(taken) < STREAM_CAP


async def test_what_was_said_before_a_stream_went_on_for_ever_is_the_answer() -> None:
    """As if the model had used up its tokens."""

    async def thinking() -> AsyncGenerator[StreamEvent]:
        yield TextDelta("Let me see.")
        async for _ in lines_of(endless_pieces(b"x" * 65_536)):
            pass

    events = [event async for event in cap_answer(thinking(), "thinker", [user("hi")])]
    assert isinstance(events[-1], Completed)
    assert (events[-1].response.message.text, events[-1].response.stop_reason) == (
        "Let me see.",
        "max_tokens",
    )


def finished(work: AsyncIterator[bytes]) -> int:
    """Run what never waits."""
    count = 0

    async def run() -> None:
        nonlocal count
        async for _ in work:
            count += 1

    with pytest.raises(StopIteration):
        run().send(None)
    return count


@pytest.mark.long
@pytest.mark.parametrize("read", [events_of, lines_of])
@pytest.mark.parametrize("size", [1, 1_000])
def test_a_stream_is_read_in_one_pass(
    read: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]], size: int
) -> None:
    """Whatever the pieces it comes in."""
    names = (
        "'w'",
        "'\\n'",
        "'\\r\\n'",
        "'\\n\\n'",
        "'data: a'",
        "'data: {}\\n\\n'",
        "':\\n\\n'",
        "'a\\n'",
        "'{'",
    )
    shapes = {name: SHAPES[name] for name in names}
    assert_linear(lambda text: finished(read(pieces_of(text.encode(), size))), shapes)


def grown(text: str) -> str:
    reply = GrowingReply()
    for start in range(0, len(text), 5):
        reply.take(text[start : start + 5])
    return reply.shown


@pytest.mark.long
@pytest.mark.parametrize(
    "work", [grown, lambda text: read(text, may_call=True)], ids=["growing", "read"]
)
def test_json_is_read_in_one_pass(work: Callable[[str], object]) -> None:
    """Also where it never closes."""
    names = (
        "'w'",
        "'{'",
        "'[1,'",
        "'{\"a\":'",
        "'[\"'",
        "'\"\\\\u'",
        '\'{"reply":"\'',
        "'[a]('",
        "a reply of escapes",
    )
    rest = (
        "a reply",
        "objects that never close",
        "a list in a list that never closes",
        "lists within lists",
    )
    assert_linear(work, {name: SHAPES[name] for name in (*names, *rest, "objects within objects")})


def openai_events(**delta: object) -> bytes:
    return encode({"choices": [{"delta": delta}]})


def call_events(**function: object) -> bytes:
    return openai_events(tool_calls=[{"index": 0, "function": function}])


def anthropic_events(kind: str, **fields: str) -> bytes:
    return encode({"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}})


def gemini_event(*parts: object) -> bytes:
    return encode({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})


OPENAI = {
    "words": openai_events(content="word"),
    "refusals": openai_events(refusal="word"),
    "thoughts": openai_events(reasoning_content="word"),
    "blocks of thoughts": openai_events(
        reasoning_details=[{"type": "t", "index": 0, "text": "word"}]
    ),
    "arguments": call_events(arguments="word"),
    "arguments with their name": call_events(name="echo", arguments="word"),
}
ANTHROPIC = {
    "words": anthropic_events("text_delta", text="word"),
    "thoughts": anthropic_events("thinking_delta", thinking="word"),
    "arguments": anthropic_events("input_json_delta", partial_json="word"),
}
GEMINI = {
    "words": gemini_event({"text": "word"}),
    "calls": gemini_event({"functionCall": {"name": "echo", "args": {}}}),
}


def take_all(answer: OpenAIAnswer | AnthropicAnswer, events: Iterable[bytes], end: bytes) -> None:
    for event in (*events, end):
        for _ in answer.take(event):
            pass
    answer.response()


def openai_answer(events: list[bytes]) -> None:
    take_all(OpenAIAnswer("m", FAILURES, [], may_call=True), events, b"[DONE]")


def anthropic_answer(events: list[bytes]) -> None:
    end = encode({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    take_all(AnthropicAnswer("m", FAILURES, []), events, end)


def gemini_answer(events: list[bytes]) -> None:
    answer = GeminiAnswer("gemini", "m", FAILURES)
    for event in events:
        for _ in answer.take(event):
            pass
    answer.response()


VENDORS: list[tuple[Callable[[list[bytes]], None], bytes]] = [
    *((openai_answer, event) for event in OPENAI.values()),
    *((anthropic_answer, event) for event in ANTHROPIC.values()),
    *((gemini_answer, event) for event in GEMINI.values()),
]


@pytest.mark.long
@pytest.mark.parametrize(("work", "event"), VENDORS)
def test_an_answer_is_put_together_once(work: Callable[[list[bytes]], None], event: bytes) -> None:
    """However many events it comes in."""
    assert_grows(work, {"events": lambda size: [event] * (size // 4)})


@pytest.mark.long
def test_calls_are_put_together_once() -> None:
    """Also where a server names the call in every piece."""

    def work(pieces: list[str]) -> None:
        calls = Calls()
        for piece in pieces:
            calls.take(0, "1", "echo", piece)
        calls.whole()

    assert_grows(work, {"pieces": lambda size: ['{"a": "', *["word"] * (size // 4), '"}']})
