"""What is particular about OpenAI: what goes over the wire, and what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from bot.providers.openai.client import OpenAI
from bot.providers.openai.request import reasoning_effort
from bot.transcript import Media, Text, ToolCall
from tests.bot.providers.asking import ask, model, results, user
from tests.fakes.openai import KEY, OpenAIFake, openai_fake
from toolset.tool import ToolDefinition

MODEL = "gpt-4o-mini"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)


@pytest.fixture
def fake() -> Iterator[OpenAIFake]:
    """The service."""
    with openai_fake() as fake:
        yield fake


@pytest.fixture
async def openai(fake: OpenAIFake) -> AsyncIterator[OpenAI]:
    """A provider that asks the stand-in."""
    provider = OpenAI(KEY, MODEL, fake.base_url)
    yield provider
    await provider.aclose()


FUNCTION = {"name": "get_weather", "arguments": '{"location":"東京"}'}
DECLARED = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {}},
}


async def test_a_request_whole(fake: OpenAIFake, openai: OpenAI) -> None:
    """Every field of it, as it goes over the wire."""
    call = ToolCall("call_1", "get_weather", {"location": "東京"})
    asked = model(Text("Let me look."), call)
    fake.say("晴れです。")
    reported = [user("Hello"), user("東京は?"), asked, results(asked, {"temp": 18}), user("早く")]
    await ask(openai, reported, TOOLS)
    assert fake.chats == [
        {
            "model": MODEL,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 2048,
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hello\n\n東京は?"},
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [{"id": "call_1", "type": "function", "function": FUNCTION}],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": '{"output":{"temp":18}}'},
                {"role": "user", "content": "早く"},
            ],
            "tools": [{"type": "function", "function": DECLARED}],
            "tool_choice": "auto",
        }
    ]
    headers = fake.requests[0].headers
    assert (headers["Authorization"], headers["Accept-Encoding"]) == (f"Bearer {KEY}", "identity")


async def test_words_beside_pictures_are_parts(fake: OpenAIFake, openai: OpenAI) -> None:
    """And so are those of the messages next to them."""
    fake.say("ok")
    await ask(openai, [user("Look"), user(Media("1", "image/png", 1, b"x"), "at this"), user("!")])
    content = fake.chats[0]["messages"][1]["content"]
    assert content == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}},
        {"type": "text", "text": "at this"},
        {"type": "text", "text": "!"},
    ]


async def test_a_message_with_nothing_to_say_is_left_out(fake: OpenAIFake, openai: OpenAI) -> None:
    """OpenAI refuses it."""
    fake.say("ok")
    await ask(openai, [user(""), model(""), user("Hello")])
    assert [message["role"] for message in fake.chats[0]["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("parameters", "strict"),
    [
        (
            {
                "type": "object",
                "properties": {"x": {"type": "string", "minLength": 1}},
                "required": ["x"],
            },
            True,
        ),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, False),
    ],
)
async def test_strict_where_the_schema_allows_it(
    fake: OpenAIFake, openai: OpenAI, parameters: dict[str, Any], strict: bool
) -> None:
    """A tool may ask for it; an optional property cannot be said strictly."""
    fake.say("ok")
    await ask(openai, [user("?")], [ToolDefinition("f", "d", parameters, {}, strict=True)])
    function = fake.chats[0]["tools"][0]["function"]
    assert function.get("strict", False) is strict
    assert ("additionalProperties" in function["parameters"]) is strict
    assert ("minLength" in function["parameters"]["properties"]["x"]) is False


@pytest.mark.parametrize(
    ("name", "effort"),
    [
        ("gpt-5-mini", "low"),
        ("o3", "low"),
        ("openai/gpt-oss-120b", "low"),
        ("gpt-4o", ""),
        ("gpt-5-chat-latest", ""),
        ("qwen3", ""),
    ],
)
def test_only_a_model_that_thinks_is_told_how_hard(name: str, effort: str) -> None:
    """Others refuse the field."""
    assert reasoning_effort(name, "low") == effort


async def test_a_refusal_in_words_is_a_blocked_answer(fake: OpenAIFake, openai: OpenAI) -> None:
    """OpenAI says it in a field of its own."""
    fake.deltas({"refusal": "I cannot "}, {"refusal": "help."})
    response = (await ask(openai, [user("?")])).response
    assert (response.stop_reason, response.detail) == ("blocked", "stop I cannot help.")


async def test_what_a_server_wants_back_it_gets_back(fake: OpenAIFake, openai: OpenAI) -> None:
    """Reasoning and signatures: to the same model whole, to another one not at all."""
    fake.extras = True
    signed = {"google": {"thought_signature": "abc"}}
    call = {
        "index": 0,
        "id": "",
        "function": {"name": "get_weather", "arguments": "{}"},
        "extra_content": signed,
    }
    fake.deltas(
        {"reasoning_content": "Let me "},
        {
            "reasoning_content": "think.",
            "reasoning_details": [{"type": "t", "index": 0, "text": "a", "id": None}],
        },
        {
            "reasoning_details": [
                {"type": "t", "index": 0, "text": "b", "id": "r"},
                {"type": "e", "data": "x"},
            ]
        },
        {"tool_calls": [call], "extra_content": {"google": {"thought": True}}},
        finish="tool_calls",
    )
    asked = (await ask(openai, [user("?")], TOOLS)).response.message
    for _ in range(2):
        fake.say("ok")
    reported = [user("?"), asked, results(asked, {})]
    await ask(openai, reported, TOOLS)
    other = OpenAI(KEY, "gpt-5-mini", fake.base_url)
    await ask(other, reported, TOOLS)
    await other.aclose()
    own, foreign = (chat["messages"][2] for chat in fake.chats[1:])
    assert own == {
        **foreign,
        "reasoning_content": "Let me think.",
        "reasoning_details": [
            {"type": "t", "index": 0, "text": "ab", "id": "r"},
            {"type": "e", "data": "x"},
        ],
        "extra_content": {"google": {"thought": True}},
        "tool_calls": [{**foreign["tool_calls"][0], "extra_content": signed}],
    }
    assert foreign.keys() == {"role", "content", "tool_calls"}


async def test_an_unreadable_call_is_malformed(fake: OpenAIFake, openai: OpenAI) -> None:
    """Nothing of the answer is run."""
    call = {"index": 0, "id": "1", "function": {"name": "get_weather", "arguments": '{"loc'}}
    fake.deltas({"tool_calls": [call]}, finish="tool_calls")
    response = (await ask(openai, [user("?")], TOOLS)).response
    assert (response.stop_reason, response.message.calls, response.detail) == (
        "malformed",
        (),
        "tool_calls",
    )
