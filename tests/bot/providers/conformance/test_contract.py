"""What every provider promises, whoever the vendor is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal, cast

import msgspec
import pytest

from bot.providers import (
    AUTO,
    NONE,
    Completed,
    Provider,
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


async def test_a_stream_ends_with_the_whole_answer(opening: Opening) -> None:
    """Exactly one ``Completed``, at the end; the words streamed before are the words of the
    message."""
    async with opening("words") as provider:
        asked = await ask(provider, [user("Hello")], declared())
    assert [isinstance(event, Completed) for event in asked.events] == [False] * (
        len(asked.events) - 1
    ) + [True]
    assert words_of(asked) == asked.text != ""
    assert (asked.response.message.role, asked.response.stop_reason) == ("model", "end_turn")
    assert asked.response.message.id
    assert asked.response.message.at > 1_700_000_000_000
    assert asked.response.model


async def test_parallel_calls_come_in_one_answer(opening: Opening) -> None:
    """The pieces of the stream are the calls of the message, in order, each with an id of its
    own."""
    async with opening("calls") as provider:
        asked = await ask(provider, [user(QUESTION)], declared())
    assert asked.calls == list(CALLS)
    assert calls_of(asked) == list(asked.response.message.calls)
    assert asked.response.stop_reason == "tool_use"


async def test_no_id_is_given_twice(opening: Opening) -> None:
    """Not within an answer and not between two, of calls or of messages."""
    async with opening("calls", "calls") as provider:
        messages = [
            (await ask(provider, [user(QUESTION)], declared())).response.message for _ in range(2)
        ]
    assert len({message.id for message in messages}) == 2
    assert len({call.id for message in messages for call in message.calls} - {""}) == 4


async def test_results_lead_to_an_answer(opening: Opening) -> None:
    """The message goes back as it came, followed by all results; an error is a result too."""
    async with opening("calls", "words") as provider:
        asked = (await ask(provider, [user(QUESTION)], declared())).response.message
        reported = [user(QUESTION), asked, results(asked, SUNNY, {"error": "location not found"})]
        answer = await ask(provider, reported, declared())
    assert answer.text
    assert answer.calls == []


async def test_a_stored_turn_can_go_on(opening: Opening) -> None:
    """What the history holds is enough: nothing of an answer lives in the provider alone."""
    async with opening("calls", "words", "words") as provider:
        asked = (await ask(provider, [user(QUESTION)], declared())).response.message
        turn = [user(QUESTION), asked, results(asked, SUNNY, SUNNY)]
        turn.append((await ask(provider, turn, declared())).response.message)
        stored = decode_record(encode(TurnRecord("turn_1", 1_000, provider.model, tuple(turn))))
        answer = await ask(provider, [*stored.messages, user("Thanks!")], declared())
    assert answer.text


async def test_another_models_history_is_taken(opening: Opening) -> None:
    """After a change of MODEL the conversation goes on; foreign opaque data is not for this
    provider."""
    call = ToolCall("call_abc", "get_weather", {"location": "Nara"})
    foreign = Message(
        "m",
        "model",
        (Text("Let me look."), call),
        2_000,
        opaque=Opaque("another", "m-1", b"\xff\x00"),
    )
    history = [user("Nara?"), foreign, results(foreign, SUNNY), model("Sunny.")]
    async with opening("words") as provider:
        answer = await ask(provider, [*history, user("Hello")], declared())
    assert answer.text


async def test_several_messages_of_the_user_may_follow_each_other(opening: Opening) -> None:
    """They waited together, or came while tools ran."""
    async with opening("calls", "words") as provider:
        waiting = [user("Hello"), user(QUESTION)]
        asked = (await ask(provider, waiting, declared())).response.message
        answer = await ask(
            provider, [*waiting, asked, results(asked, SUNNY, SUNNY), user("Hurry!")], declared()
        )
    assert answer.text


async def test_a_picture_does_no_harm(opening: Opening) -> None:
    """A reference to a file stands in the transcript whether a model can see it or not."""
    async with opening("words") as provider:
        answer = await ask(provider, [user("Look", Media("123", "image/png", 2_000))], declared())
    assert answer.text


async def test_without_tools_there_are_words(opening: Opening) -> None:
    """A request may declare nothing at all."""
    async with opening("words") as provider:
        answer = await ask(provider, [user(QUESTION)])
    assert answer.text
    assert answer.calls == []


async def test_tool_choice_none_brings_words(opening: Opening) -> None:
    """The last request of a long turn still declares the tools, but must not call."""
    async with opening("words") as provider:
        answer = await ask(provider, [user(QUESTION)], declared(), NONE)
    assert answer.text
    assert answer.calls == []


@pytest.mark.parametrize(
    "choice", [ToolChoice("required"), ToolChoice("one", "get_weather")], ids=lambda c: c.mode
)
async def test_a_forced_tool_choice_brings_calls(opening: Opening, choice: ToolChoice) -> None:
    """Any tool, or one by its name."""
    async with opening("calls") as provider:
        asked = await ask(provider, [user(QUESTION)], declared(), choice)
    assert {name for name, _ in asked.calls} == {"get_weather"}


async def test_a_stream_may_be_left_early(opening: Opening) -> None:
    """Somebody stops reading; the next request is answered all the same."""
    async with opening("words", "words") as provider:
        stream = provider.stream("", [user("Hello")], declared(), AUTO)
        await anext(stream)
        await stream.aclose()
        assert (await ask(provider, [user("Hello")], declared())).text


async def test_a_check_gives_the_operator_one_line(opening: Opening) -> None:
    """For ``kaiwa doctor``, without an answer being generated."""
    async with opening() as provider:
        line = await provider.check()
    assert line
    assert line.splitlines() == [line]


async def test_closing_twice_is_closing_once(opening: Opening) -> None:
    """Whoever tidies up need not know whether somebody else has."""
    async with opening() as provider:
        assert provider.name
        assert provider.model
        await provider.aclose()
        await provider.aclose()
