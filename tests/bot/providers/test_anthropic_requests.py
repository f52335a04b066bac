"""What Anthropic is sent: turns, thoughts, forced calls, the prompt cache."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bot.providers import NONE, Request, ToolChoice
from bot.providers.anthropic.capabilities import capabilities_of
from bot.providers.anthropic.client import Anthropic
from bot.providers.anthropic.request import PICTURE_CAP
from bot.providers.shared.entry import Options
from bot.transcript import Media, Message, ToolCall
from tests.bot.providers.asking import ask, declared, model, results, user
from tests.fakes.anthropic import KEY, AnthropicFake, anthropic_fake, call, text, thought
from toolset.tool import ToolDefinition

JSON = dict[str, Any]
MODEL = "claude-sonnet-5"
BUDGET_MODEL = "claude-haiku-4-5"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
WEATHER: tuple[str, JSON] = ("get_weather", {"location": "東京"})
REQUIRED, ONE = ToolChoice("required"), ToolChoice("one", "get_weather")


@pytest.fixture
def fake() -> Iterator[AnthropicFake]:
    """The service."""
    with anthropic_fake() as fake:
        yield fake


@pytest.fixture
async def anthropic(fake: AnthropicFake) -> AsyncIterator[Anthropic]:
    """A provider that asks the stand-in."""
    provider = Anthropic(KEY, MODEL, fake.base_url)
    yield provider
    await provider.aclose()


async def sent(fake: AnthropicFake, provider: Anthropic, *messages: Message) -> list[JSON]:
    """The messages of a request."""
    fake.say("ok")
    await ask(provider, messages, TOOLS)
    spoken: list[JSON] = fake.messages[-1]["messages"]
    return spoken


async def asked_to_think(fake: AnthropicFake, name: str, level: str, choice: ToolChoice) -> JSON:
    """What a request says about thinking, the output limit and the tool choice."""
    provider = Anthropic(KEY, name, fake.base_url, Options(1000, level))
    fake.say("ok")
    await ask(provider, [user("?")], TOOLS, choice)
    await provider.aclose()
    fields = ("max_tokens", "thinking", "output_config", "tool_choice")
    return {field: value for field, value in fake.messages[-1].items() if field in fields}


async def test_a_request_whole(fake: AnthropicFake, anthropic: Anthropic) -> None:
    """Every field of it, as it goes over the wire; results come first in a turn of the user's."""
    asked = model(
        "Let me look.", ToolCall("call_1", *WEATHER), ToolCall("call_2", "get_weather", {})
    )
    fake.say("晴れです。")
    reported = [
        user("Hello"),
        user("東京は?"),
        asked,
        results(asked, {"temp": 18}, {"error": "no"}),
        user("早く"),
    ]
    await ask(anthropic, reported, TOOLS)
    schema = {"type": "object", "properties": {}}
    used = [
        {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"location": "東京"}},
        {"type": "tool_use", "id": "call_2", "name": "get_weather", "input": {}},
    ]
    answered = [
        {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": '{"output":{"temp":18}}',
            "is_error": False,
        },
        {
            "type": "tool_result",
            "tool_use_id": "call_2",
            "content": '{"error":"no"}',
            "is_error": True,
        },
    ]
    assert fake.messages == [
        {
            "model": MODEL,
            "stream": True,
            "max_tokens": 2048,
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "low"},
            "system": [text("Be kind.")],
            "messages": [
                {"role": "user", "content": [text("Hello"), text("東京は?")]},
                {"role": "assistant", "content": [text("Let me look."), *used]},
                {"role": "user", "content": [*answered, text("早く")]},
            ],
            "tools": [
                {"name": "get_weather", "description": "Tells the weather.", "input_schema": schema}
            ],
            "tool_choice": {"type": "auto"},
        }
    ]
    headers = fake.requests[0].headers
    assert (headers["authorization"], headers["accept-encoding"]) == (f"Bearer {KEY}", "identity")


async def test_without_system_prompt_and_tools_those_fields_are_left_out(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """A tool choice without tools would be refused."""
    fake.say("ok")
    _ = [event async for event in anthropic.stream(Request("", [user("?")], (), NONE))]
    assert not {"system", "tools", "tool_choice"} & fake.messages[0].keys()


async def test_a_picture_that_anthropic_refuses_is_left_out(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """Its limit is 5 MiB of base64; a larger picture would fail the whole conversation."""
    pictures = [
        Media("1", "image/png", data=bytes(size)) for size in (PICTURE_CAP, PICTURE_CAP + 1)
    ]
    [message] = await sent(fake, anthropic, user(*pictures))
    taken, refused = message["content"]
    assert len(taken["source"]["data"]) == 5 * 1024 * 1024
    assert refused == text("[image: not available]")


async def test_blank_words_and_empty_messages_are_left_out(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """Anthropic refuses a text without a letter, and a message without a block."""
    spoken = await sent(
        fake, anthropic, user("a"), model(" \n"), user("\n"), model("", "b"), user("c")
    )
    assert [(one["role"], [block["text"] for block in one["content"]]) for one in spoken] == [
        ("user", ["a"]),
        ("assistant", ["b"]),
        ("user", ["c"]),
    ]


async def test_thoughts_go_back_unchanged_within_their_turn(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """Before each step of the turn, in their place between words and calls, those that cannot be
    read too."""
    secret = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    blocks = [
        thought(),
        text("Let me look."),
        call(*WEATHER),
        thought(""),
        secret,
        call("get_weather", {}),
    ]
    fake.blocks(*blocks, stop="tool_use")
    asked = await ask(anthropic, [user("?")], TOOLS)
    assert (asked.text, asked.calls) == ("Let me look.", [WEATHER, ("get_weather", {})])
    reported = [
        user("?"),
        asked.response.message,
        results(asked.response.message, {}, {}),
        user("Hurry"),
    ]
    assert (await sent(fake, anthropic, *reported))[1] == {"role": "assistant", "content": blocks}


async def test_thoughts_of_earlier_turns_are_left_out(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """What the turn came to is enough."""
    fake.calls(WEATHER, thought=thought())
    asked = (await ask(anthropic, [user("?")], TOOLS)).response.message
    over = [user("?"), asked, results(asked, {}), model("Sunny."), user("Thanks")]
    spoken = await sent(fake, anthropic, *over)
    assert [block["type"] for block in spoken[1]["content"]] == ["tool_use"]


async def test_a_thought_is_no_other_models_to_read(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """A fallback goes on without it."""
    fake.calls(WEATHER, thought=thought())
    asked = (await ask(anthropic, [user("?")], TOOLS)).response.message
    other = Anthropic(KEY, "claude-opus-4-8", fake.base_url)
    spoken = await sent(fake, other, user("?"), asked, results(asked, {}))
    await other.aclose()
    assert [block["type"] for block in spoken[1]["content"]] == ["tool_use"]


async def test_a_finished_answer_keeps_no_thoughts(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """Nobody would be sent them: the history stays small."""
    fake.blocks(thought(), text("Hello."))
    assert (await ask(anthropic, [user("?")])).response.message.opaque is None


async def test_a_turn_begun_without_a_thought_goes_on_without(fake: AnthropicFake) -> None:
    """Models that think by a budget want a turn to begin with a thought, and this one began
    elsewhere."""
    provider = Anthropic(KEY, BUDGET_MODEL, fake.base_url)
    foreign = model(ToolCall("call_1", *WEATHER))
    await sent(fake, provider, user("?"), foreign, results(foreign, {}))
    await sent(
        fake, provider, user("?"), foreign, results(foreign, {}), model("Sunny."), user("Thanks")
    )
    fake.calls(WEATHER, thought=thought())
    own = (await ask(provider, [user("?")], TOOLS)).response.message
    fake.calls(WEATHER)  # it thinks once, at the beginning
    second = (await ask(provider, [user("?"), own, results(own, {})], TOOLS)).response.message
    await sent(fake, provider, user("?"), own, results(own, {}), second, results(second, {}))
    await provider.aclose()
    assert ["thinking" in body for body in fake.messages] == [False, True, True, True, True]


ADAPTIVE, OFF = {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}
LOW = {"output_config": {"effort": "low"}}
ANY, AUTO = {"tool_choice": {"type": "any"}}, {"tool_choice": {"type": "auto"}}
TOOL = {"tool_choice": {"type": "tool", "name": "get_weather"}}


@pytest.mark.parametrize(
    ("name", "level", "choice", "expected"),
    [
        ("claude-3-haiku-20240307", "high", REQUIRED, ANY),
        (BUDGET_MODEL, "minimal", ToolChoice(), AUTO),
        (
            "claude-haiku-4-5-20251001",
            "low",
            ToolChoice(),
            {"max_tokens": 2024, "thinking": {"type": "enabled", "budget_tokens": 1024}, **AUTO},
        ),
        (BUDGET_MODEL, "low", ONE, TOOL),
        ("claude-opus-4-6", "minimal", ToolChoice(), {**LOW, **AUTO}),
        (
            "claude-opus-4-6",
            "high",
            ToolChoice(),
            {**ADAPTIVE, "output_config": {"effort": "high"}, **AUTO},
        ),
        ("claude-opus-4-8", "low", REQUIRED, {**LOW, **ANY}),
        (MODEL, "minimal", ToolChoice(), {**OFF, **LOW, **AUTO}),
        (MODEL, "low", ONE, {**OFF, **LOW, **TOOL}),
        ("claude-fable-5", "minimal", REQUIRED, {**ADAPTIVE, **LOW, **ANY}),
        ("claude-opus-5-5", "minimal", REQUIRED, {**ADAPTIVE, **LOW, **AUTO}),
        (
            "claude-sonnet-5-5",
            "medium",
            ONE,
            {**ADAPTIVE, "output_config": {"effort": "medium"}, **AUTO},
        ),
    ],
)
async def test_each_generation_is_told_in_its_own_words(
    fake: AnthropicFake, name: str, level: str, choice: ToolChoice, expected: JSON
) -> None:
    """A forced call and a thought exclude each other; the newest models cannot be forced at all."""
    assert await asked_to_think(fake, name, level, choice) == {"max_tokens": 1000, **expected}


def test_a_model_with_an_unknown_name_is_told_nothing() -> None:
    """Some gateways name them as they like."""
    unknown = capabilities_of("our-claude", "high")
    assert unknown.thinking(1000, wanted=True) == {"max_tokens": 1000}


async def test_a_long_prompt_is_marked_for_the_cache(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """System prompt and tools, each at its end; a short prompt bears no mark."""
    fake.say("ok")
    fake.say("ok")
    await ask(anthropic, [user("?")], declared())
    _ = [
        event
        async for event in anthropic.stream(Request("Be kind. " * 300, [user("?")], declared()))
    ]
    marks = [
        [place for place, tool in enumerate(body["tools"]) if "cache_control" in tool]
        + [block.get("cache_control") for block in body["system"]]
        for body in fake.messages
    ]
    last = len(declared()) - 1
    assert marks == [[last, {"type": "ephemeral"}], [last, {"type": "ephemeral"}]]
    fake.say("ok")
    await ask(anthropic, [user("?")], TOOLS)
    assert "cache_control" not in fake.requests[-1].raw.decode()


async def test_what_comes_before_the_conversation_does_not_change(
    fake: AnthropicFake, anthropic: Anthropic
) -> None:
    """So that it is found in the cache; other tools are declared anew."""
    for tools in (TOOLS, TOOLS, declared()):
        fake.say("ok")
        await ask(anthropic, [user("?")], tools)
    assert [len(body["tools"]) for body in fake.messages] == [1, 1, len(declared())]


async def test_a_strict_tool_is_declared_so_where_that_can_be_said(fake: AnthropicFake) -> None:
    """Its schema must be shut, and the model must know strictness; the others get the whole
    schema."""
    shut = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 9}},
        "required": ["a"],
        "additionalProperties": False,
    }
    open_ended = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}}
    tools = (
        ToolDefinition("shut", "", shut, {}, strict=True),
        ToolDefinition("open", "", open_ended, {}, strict=True),
    )
    for name in (MODEL, "claude-3-haiku-20240307"):
        provider = Anthropic(KEY, name, fake.base_url)
        fake.say("ok")
        await ask(provider, [user("?")], tools)
        await provider.aclose()
    new, old = ({tool["name"]: tool for tool in body["tools"]} for body in fake.messages)
    assert new["shut"]["input_schema"] == {**shut, "properties": {"a": {"type": "string"}}}
    assert [tool.get("strict") for tool in (*new.values(), *old.values())] == [
        True,
        None,
        None,
        None,
    ]
    assert (new["open"]["input_schema"], old["shut"]["input_schema"]) == (open_ended, shut)
