"""What every provider promises, whoever the vendor is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, cast

import msgspec
import pytest

from bot.providers import (
    NONE,
    Completed,
    Provider,
    Request,
    Restarted,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from bot.providers.demo.client import Demo
from bot.providers.scripted import Scripted, Step
from bot.texts import load
from bot.transcript import Media, Message, Opaque, Text, ToolCall, TurnRecord, decode_record, encode
from tests.bot.providers.asking import Reply, ask, declared, model, results, user
from tests.bot.providers.subjects.all import SUBJECTS

Kind = Literal["calls", "words"]
Opening = Callable[..., AbstractAsyncContextManager[Provider]]

QUESTION = "What's the weather in Tokyo and Osaka?"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_weather", {"location": "Tokyo"}),
    ("get_weather", {"location": "Osaka"}),
)
SUNNY = {"location": "Tokyo, Japan", "condition": "Sunny", "current_temp_c": "18", "days": []}


@asynccontextmanager
async def demo(*answers: Kind) -> AsyncIterator[Provider]:
    """Finds out by itself when to call."""
    yield Demo(load())


@asynccontextmanager
async def scripted(*answers: Kind) -> AsyncIterator[Provider]:
    """Told step by step."""
    calls = tuple(ToolCall("", name, arguments) for name, arguments in CALLS)
    yield Scripted(
        [
            Step(calls=calls) if answer == "calls" else Step("It is sunny. 晴れです。")
            for answer in answers
        ]
    )


def before(vendor: str) -> Opening:
    """Over HTTP, against a vendor's strict stand-in, which has to be told too."""

    @asynccontextmanager
    async def opened(*answers: Kind) -> AsyncIterator[Provider]:
        async with SUBJECTS[vendor]() as subject:
            for answer in answers:
                if answer == "calls":
                    subject.calls(*CALLS)
                else:
                    subject.say("It is sunny. ", "晴れです。")
            yield subject.provider

    return opened


@pytest.fixture(
    params=[demo, scripted, *map(before, SUBJECTS)], ids=["demo", "scripted", *SUBJECTS]
)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens a provider whose answers to come are, one after the other, calls or words."""
    return cast(Opening, request.param)


def words_of(asked: Reply) -> str:
    """What somebody who watched would have read in the end."""
    words: list[str] = []
    for event in asked.events:
        match event:
            case TextDelta(text):
                words.append(text)
            case Restarted():
                words.clear()
    return "".join(words)


def calls_of(asked: Reply) -> list[ToolCall]:
    """The calls, put together from their pieces."""
    pieces: dict[int, list[str]] = {}
    for event in asked.events:
        if isinstance(event, ToolCallDelta):
            whole = pieces.setdefault(event.index, ["", "", ""])
            whole[:] = [
                whole[0] + event.id,
                whole[1] + event.name,
                whole[2] + event.arguments_delta,
            ]
    return [
        ToolCall(call_id, name, msgspec.json.decode(text))
        for call_id, name, text in pieces.values()
    ]


async def test_a_turn(opening: Opening) -> None:
    """Parallel calls in one answer, their results, an error among them, more words of the person,
    and the next turn from what the history holds: nothing of an answer lives in the provider
    alone."""
    async with opening("calls", "words", "words") as provider:
        waiting = [user("Hello"), user(QUESTION)]
        asked = await ask(provider, waiting, declared())
        assert asked.calls == list(CALLS)
        assert calls_of(asked) == list(asked.response.message.calls)
        assert asked.response.stop_reason == "tool_use"
        called = asked.response.message
        reported = results(called, SUNNY, {"error": "location not found"})
        turn = [*waiting, called, reported, user("Hurry!")]
        answer = await ask(provider, turn, declared())
        whole = [isinstance(event, Completed) for event in answer.events]
        assert whole == [False] * (len(whole) - 1) + [True]
        assert words_of(answer) == answer.text != ""
        message = answer.response.message
        assert (message.role, answer.response.stop_reason) == ("model", "end_turn")
        assert message.at > 1_700_000_000_000
        assert len({call.id for call in called.calls} - {"", message.id, called.id}) == 2
        assert answer.response.model
        record = TurnRecord("turn_1", 1_000, provider.model, (*turn, message))
        stored = decode_record(encode(record)).messages
        assert (await ask(provider, [*stored, user("Thanks!")], declared())).text


async def test_what_a_history_may_hold(opening: Opening) -> None:
    """Another model's calls with opaque data, which is not for this provider; a reference to a
    file, whether the model can see it or not. Without tools, or where none may be called, there are
    words."""
    call = ToolCall("call_abc", "get_weather", {"location": "Nara"})
    opaque = Opaque("another", "m-1", b"\xff\x00")
    foreign = Message("m", "model", (Text("Let me look."), call), 2_000, opaque=opaque)
    history = [user("Nara?"), foreign, results(foreign, SUNNY), model("Sunny.")]
    history.append(user("Look", Media("123", "image/png", 2_000)))
    async with opening("words", "words", "words") as provider:
        assert (await ask(provider, history, declared())).text
        for tools in ((), declared()):
            answer = await ask(provider, [user(QUESTION)], tools, NONE)
            assert answer.text
            assert answer.calls == []


async def test_a_forced_tool_choice_brings_calls(opening: Opening) -> None:
    """Any tool, or one by its name; no id is given twice."""
    ids = set()
    async with opening("calls", "calls") as provider:
        for choice in (ToolChoice("required"), ToolChoice("one", "get_weather")):
            asked = await ask(provider, [user(QUESTION)], declared(), choice)
            assert {name for name, _ in asked.calls} == {"get_weather"}
            ids |= {call.id for call in asked.response.message.calls}
    assert len(ids - {""}) == 4


async def test_what_a_provider_does_besides(opening: Opening) -> None:
    """A stream may be left early, and the next request is answered all the same; a check gives the
    operator one line; closing twice is closing once."""
    async with opening("words", "words") as provider:
        stream = provider.stream(Request("", [user("Hello")], declared()))
        await anext(stream)
        await stream.aclose()
        assert (await ask(provider, [user("Hello")], declared())).text
        assert provider.name
        line = await provider.check()
        assert line.splitlines() == [line]
        await provider.aclose()
        await provider.aclose()
