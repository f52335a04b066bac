"""What Gemini is sent, as its strict stand-in receives it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bot.providers import NONE, Request
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.request import thinking_config
from bot.transcript import Message, Opaque, Text, ToolCall
from tests.bot.providers.asking import ask, model, results, user
from tests.fakes.gemini import KEY, GeminiFake
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

STRICT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"snake_case": {"$ref": "#/$defs/Name"}},
    "$defs": {"Name": {"type": "string"}},
    "additionalProperties": False,
}
TOOLS = (
    ToolDefinition("get_weather", "Tells the weather.", STRICT, {}),
    ToolDefinition("calculate", "Does sums.", {"type": "object"}, {}),
)


async def sent(fake: GeminiFake, gemini: Gemini, *messages: Message) -> list[JSON]:
    """The contents of a request with these messages."""
    fake.say("ok")
    await ask(gemini, messages)
    contents: list[JSON] = fake.requests[-1].body["contents"]
    return contents


async def test_a_request_is_complete(fake: GeminiFake, gemini: Gemini) -> None:
    """System prompt, contents, all tools in one Tool with their schemas as they are, mode and
    limits; nothing else."""
    fake.say("ok")
    await ask(gemini, [user("hello")], TOOLS)
    assert fake.requests[0].body == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "Tells the weather.",
                        "parametersJsonSchema": STRICT,
                    },
                    {
                        "name": "calculate",
                        "description": "Does sums.",
                        "parametersJsonSchema": {"type": "object"},
                    },
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"maxOutputTokens": 2048, "thinkingConfig": {"thinkingLevel": "LOW"}},
    }


async def test_a_tools_response_schema_is_declared(fake: GeminiFake, gemini: Gemini) -> None:
    """As it is, so that the model knows what a call brings; a tool without one is declared without
    it."""
    fake.say("ok")
    reported = ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, STRICT)
    await ask(gemini, [user("hello")], (reported, TOOLS[1]))
    [declared_one, declared_other] = fake.requests[0].body["tools"][0]["functionDeclarations"]
    assert declared_one["responseJsonSchema"] == STRICT
    assert "responseJsonSchema" not in declared_other


async def test_a_request_goes_to_the_stream_of_its_model(fake: GeminiFake, gemini: Gemini) -> None:
    """One request, with the key in its header only."""
    fake.say("ok")
    await ask(gemini, [user("hello")])
    [request] = fake.requests
    assert (request.version, request.model, request.action) == (
        "v1beta",
        "gemini-3.5-flash",
        "streamGenerateContent",
    )
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.raw.decode()


async def test_without_system_prompt_and_tools_those_fields_are_left_out(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """An empty instruction or a tool config without tools would be refused."""
    fake.say("ok")
    _ = [event async for event in gemini.stream(Request("", [user("hello")], (), NONE))]
    assert fake.requests[0].body.keys() == {"contents", "generationConfig"}


async def test_system_and_tools_are_the_same_bytes_in_every_request(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """What comes before the conversation does not change, so that Gemini finds it in its cache."""
    messages = [user("hello")]
    for _ in range(3):
        fake.say("ok")
        messages += [(await ask(gemini, messages, TOOLS)).response.message, user("more")]
    stable = [
        [
            msgspec.json.encode(request.body[field])
            for field in ("systemInstruction", "tools", "toolConfig")
        ]
        for request in fake.requests
    ]
    assert stable[0] == stable[1] == stable[2]


async def test_changed_tools_are_declared_anew(fake: GeminiFake, gemini: Gemini) -> None:
    """The conversion is kept for the same tools, not for whatever comes."""
    for tools in (TOOLS, TOOLS, TOOLS[1:]):
        fake.say("ok")
        await ask(gemini, [user("hello")], tools)
    counts = [len(request.body["tools"][0]["functionDeclarations"]) for request in fake.requests]
    assert counts == [2, 2, 1]


async def test_the_context_line_stands_before_the_words(fake: GeminiFake, gemini: Gemini) -> None:
    """Date and place are a text part of their own."""
    message = Message("1", "user", (Text("hi"),), 0, context="Monday 09:00, Asia/Tokyo")
    assert await sent(fake, gemini, message) == [
        {"role": "user", "parts": [{"text": "Monday 09:00, Asia/Tokyo"}, {"text": "hi"}]}
    ]


async def test_adjacent_user_messages_are_one_content(fake: GeminiFake, gemini: Gemini) -> None:
    """Messages that came while nobody answered belong together."""
    contents = await sent(fake, gemini, user("a"), user("b"), model("c"), user("d"))
    assert contents == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}]},
        {"role": "user", "parts": [{"text": "d"}]},
    ]


async def test_empty_texts_and_messages_are_left_out(fake: GeminiFake, gemini: Gemini) -> None:
    """Gemini refuses an empty text, and a content without parts."""
    silent = Message("m", "model", (), 0)
    empty = Message(
        "m", "model", (), 0, opaque=Opaque("gemini", "gemini-3.5-flash", b'[{"text":""}]')
    )
    contents = await sent(fake, gemini, user("a", ""), silent, empty, user(""), user("b"))
    assert contents == [{"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}]


async def test_results_are_one_content_in_call_order(fake: GeminiFake, gemini: Gemini) -> None:
    """As many responses as calls, wrapped as output or error, with the vendor's ids."""
    fake.calls(("get_weather", {"location": "Tokyo"}), ("calculate", {"expression": "1/0"}))
    question = user("weather, and 1/0?")
    called = (await ask(gemini, [question], TOOLS)).response.message
    contents = await sent(
        fake, gemini, question, called, results(called, {"temp": 21}, {"error": "division by zero"})
    )
    ids = [call.id for call in called.calls]
    assert contents[2] == {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "name": "get_weather",
                    "response": {"output": {"temp": 21}},
                    "id": ids[0],
                }
            },
            {
                "functionResponse": {
                    "name": "calculate",
                    "response": {"error": "division by zero"},
                    "id": ids[1],
                }
            },
        ],
    }


async def test_an_id_of_our_own_is_not_sent(fake: GeminiFake, gemini: Gemini) -> None:
    """Only what the vendor gave is echoed."""
    fake.calls(("calculate", {}), ids=False)
    called = (await ask(gemini, [user("1+1?")], TOOLS)).response.message
    contents = await sent(fake, gemini, user("1+1?"), called, results(called, {"n": 2}))
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "calculate", "response": {"output": {"n": 2}}}}
    ]


async def test_a_message_after_the_results_is_a_content_of_its_own(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Function responses stay among themselves."""
    fake.call("calculate")
    called = (await ask(gemini, [user("1+1?")], TOOLS)).response.message
    contents = await sent(
        fake,
        gemini,
        user("1+1?"),
        called,
        results(called, {"n": 2}),
        user("quick!"),
        user("please"),
    )
    assert [len(content["parts"]) for content in contents] == [1, 1, 1, 2]
    assert contents[3] == {"role": "user", "parts": [{"text": "quick!"}, {"text": "please"}]}


async def test_calls_of_another_provider_carry_the_dummy_signature(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Gemini 3 refuses an unsigned first call of a step; the later ones stay unsigned."""
    calls = (ToolCall("a", "get_weather", {"location": "Oslo"}), ToolCall("b", "calculate", {}))
    foreign = Message(
        "m", "model", (Text("Let me see."), *calls), 0, opaque=Opaque("openai", "gpt", b"\x00")
    )
    contents = await sent(fake, gemini, user("?"), foreign, results(foreign, {}, {}))
    assert contents[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {
                    "functionCall": {"name": "get_weather", "args": {"location": "Oslo"}},
                    "thoughtSignature": "skip_thought_signature_validator",
                },
                {"functionCall": {"name": "calculate", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"output": {}}}},
                {"functionResponse": {"name": "calculate", "response": {"output": {}}}},
            ],
        },
    ]


async def test_unsigned_calls_of_another_gemini_carry_it_too(
    fake: GeminiFake, gemini: Gemini
) -> None:
    """Gemini 2.5 may leave its calls unsigned, which Gemini 3 would refuse in the same turn."""
    raw = b'[{"functionCall":{"name":"calculate","args":{}}}]'
    older = Message(
        "m",
        "model",
        (ToolCall("a", "calculate", {}),),
        0,
        opaque=Opaque("gemini", "gemini-2.5-flash", raw),
    )
    contents = await sent(fake, gemini, user("?"), older, results(older, {}))
    assert contents[1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


@pytest.mark.parametrize(
    ("name", "level", "config"),
    [
        ("gemini-flash-latest", "low", {"thinkingLevel": "LOW"}),
        ("gemini-flash-lite-latest", "minimal", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.1-pro-preview", "minimal", {"thinkingLevel": "LOW"}),
        ("models/gemini-3.5-flash", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-3-flash-preview", "high", {"thinkingLevel": "HIGH"}),
        ("gemini-2.5-flash", "minimal", {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", "low", {"thinkingBudget": 1024}),
        ("gemini-2.5-pro", "minimal", {"thinkingBudget": 128}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
        ("gemini-2.0-flash", "low", {}),
        ("gemini-pro", "low", {}),
        ("gemini-3.1-flash-image", "low", {}),
        ("gemini-2.5-flash-preview-tts", "low", {}),
        ("gemma-3-27b-it", "low", {}),
        ("my-tuned-model", "high", {}),
    ],
)
def test_thinking_is_asked_for_in_the_models_own_words(name: str, level: str, config: JSON) -> None:
    """Level for Gemini 3 and the latest, budget for 2.5, nothing for a model that may not know the
    field."""
    assert thinking_config(name, level) == config
