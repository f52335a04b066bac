"""The scripted model: plays what is written, keeps what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bot.errors import TryAgain
from bot.providers import (
    AUTO,
    Completed,
    Request,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from bot.providers.scripted import Scripted, ScriptEnded, Step
from bot.transcript import Message, Opaque, ToolCall, Usage
from tests.bot.providers.asking import ask, declared, model, user


async def test_steps_are_played_in_order() -> None:
    """One step for each request, words first."""
    scripted = Scripted([Step("First."), Step("Second.")])
    assert [(await ask(scripted, [user("?")])).text for _ in range(2)] == ["First.", "Second."]


async def test_text_comes_in_pieces() -> None:
    """Whoever watches sees words appear; Japanese, which has no spaces, a few characters at a
    time."""
    asked = await ask(Scripted([Step("It is fine. 今日は晴れです")]), [user("?")])
    assert asked.events[:-1] == tuple(
        map(TextDelta, ["It ", "is ", "fine. ", "今日は", "晴れで", "す"])
    )


async def test_words_and_calls_come_in_one_answer() -> None:
    """Both may stand in one step; calls follow the words, whole."""
    calls = (ToolCall("a", "echo", {"word": "雨"}), ToolCall("b", "echo", {}))
    asked = await ask(Scripted([Step("Wait", calls)]), [user("?")])
    assert asked.events[:-1] == (
        TextDelta("Wait"),
        ToolCallDelta(0, "a", "echo", '{"word":"雨"}'),
        ToolCallDelta(1, "b", "echo", "{}"),
    )
    assert asked.response.message.calls == calls
    assert asked.response.stop_reason == "tool_use"


async def test_a_call_without_an_id_gets_a_fresh_one() -> None:
    """The same step played again makes another call."""
    step = Step(calls=(ToolCall("", "echo", {}), ToolCall("", "echo", {})))
    scripted = Scripted([step, step])
    ids = [
        call.id
        for _ in range(2)
        for call in (await ask(scripted, [user("?")])).response.message.calls
    ]
    assert len(set(ids)) == 4
    assert all(ids)


async def test_an_answer_carries_what_the_step_says() -> None:
    """Stop reason, usage, detail and the vendor's opaque data come out as they were written."""
    opaque = Opaque("scripted", "m-1", b"\x00signature")
    scripted = Scripted(
        [Step("half", stop_reason="max_tokens", usage=Usage(3, 0, 2), detail="cut", opaque=opaque)],
        "s",
        "m-1",
    )
    response = (await ask(scripted, [user("?")])).response
    assert (response.stop_reason, response.usage, response.detail) == (
        "max_tokens",
        Usage(3, 0, 2),
        "cut",
    )
    assert response.message.opaque == opaque
    assert (scripted.name, response.model) == ("s", "m-1")


async def test_a_step_can_be_chosen_by_the_messages() -> None:
    """A function sees what the model would see."""

    def echo(messages: Sequence[Message]) -> Step:
        return Step(messages[-1].text.upper())

    assert (await ask(Scripted([echo]), [model("hm"), user("louder")])).text == "LOUDER"


async def test_an_error_is_raised_after_the_words() -> None:
    """A stream can break off halfway."""
    error = TryAgain("model_down", "503")
    events: list[StreamEvent] = []

    async def watch() -> None:
        async for event in Scripted([Step("Let me", error=error)]).stream(Request("", [user("?")])):
            events.append(event)

    with pytest.raises(TryAgain) as raised:
        await watch()
    assert raised.value is error
    assert events == [TextDelta("Let "), TextDelta("me")]


async def test_events_can_come_first() -> None:
    """Words that are voided stand before the answer that counts."""
    before = (TextDelta("Wrong"), Restarted())
    asked = await ask(Scripted([Step("Right", before=before)]), [user("?")])
    assert asked.events[:-1] == (*before, TextDelta("Right"))
    assert asked.text == "Right"


@pytest.mark.parametrize("shown", [0, 1, 2])
async def test_a_gate_holds_the_stream(shown: int) -> None:
    """Before its first event or in its middle, until the test opens the gate."""
    step = Step("one two", gate=asyncio.Event(), gate_after=shown)
    assert step.gate is not None
    events: list[StreamEvent] = []

    async def watch() -> None:
        async for event in Scripted([step]).stream(Request("", [user("?")])):
            events.append(event)

    watching = asyncio.create_task(watch())
    await step.at_gate.wait()
    assert len(events) == shown
    step.gate.set()
    await watching
    assert isinstance(events[-1], Completed)
    assert len(events) == 3


async def test_requests_are_kept() -> None:
    """System prompt, messages, tools and tool choice, as they were at that moment."""
    scripted, messages, tools = Scripted([Step("a"), Step("b")]), [user("?")], declared()
    await ask(scripted, messages, tools, ToolChoice("required"))
    messages.append(model("a"))
    await ask(scripted, messages)
    assert scripted.requests == [
        Request("Be kind.", (messages[0],), tools, ToolChoice("required")),
        Request("Be kind.", tuple(messages), (), AUTO),
    ]


async def test_one_request_too_many_is_said_clearly() -> None:
    """A loop that does not end shows itself, and not as a failure of the model."""
    scripted = Scripted([Step("only")])
    await ask(scripted, [user("?")])
    with pytest.raises(ScriptEnded, match="request 2 came, but the script has 1 steps"):
        await ask(scripted, [user("?")])
