"""Tools for models without function calling, which write JSON more or less as they were told."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from bot.providers import AUTO, NONE, Restarted, TextDelta, ToolChoice
from bot.providers.json_mode.client import JsonMode
from bot.providers.json_mode.request import EXAMPLES, instructions, schema_of
from bot.providers.json_mode.response import GrowingReply, Reading, looks_like_json, read
from bot.providers.openai.client import OpenAI
from bot.transcript import Opaque, Text, ToolCall, Usage
from tests.bot.providers.asking import Reply, ask, declared, model, results, user
from tests.fakes.openai import KEY, OpenAIFake, openai_fake

CALL = '{"name": "get_weather", "arguments": {"location": "東京"}}'
CALLED = ("get_weather", {"location": "東京"})


@pytest.fixture
def fake() -> Iterator[OpenAIFake]:
    """The server."""
    with openai_fake() as fake:
        yield fake


@pytest.fixture
async def provider(fake: OpenAIFake) -> AsyncIterator[JsonMode]:
    """JSON mode over it."""
    provider = JsonMode(OpenAI(KEY, "small-local-model", fake.base_url))
    yield provider
    await provider.aclose()


def replying(words: str, call: Any = None) -> str:
    """An answer as it should be."""
    return msgspec.json.encode({"thought": "hm", "tool_call": call, "reply": words}).decode()


def watched(asked: Reply) -> list[str]:
    """What somebody who watches reads, piece by piece; a restart voids what was there."""
    seen = [event for event in asked.events if isinstance(event, TextDelta | Restarted)]
    return [event.text if isinstance(event, TextDelta) else "<restarted>" for event in seen]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (replying("Hi"), Reading("Hi", (), "hm")),
        (f"```json\n{replying('Hi')}\n```", Reading("Hi", (), "hm")),
        (f"Sure! {{really}} Here it is: {replying('Hi')} Bye.", Reading("Hi", (), "hm")),
        ('{"reply": "a\nb"}', Reading("a\nb", ())),
        (
            f'{{"thought": "x", "tool_call": {CALL}, "reply": "It is sunny."}}',
            Reading("", (CALLED,), "x"),
        ),
        (f'{{"tool_call": [{CALL}, {CALL}], "reply": ""}}', Reading("", (CALLED, CALLED))),
        (f'{{"tool_calls": [{{"type": "function", "function": {CALL}}}]}}', Reading("", (CALLED,))),
        (f"```\n{CALL}\n```", Reading("", (CALLED,))),
        (f"[{CALL}]", Reading("", (CALLED,))),
        (
            '{"name": "get_weather", "parameters": "{\\"location\\": \\"東京\\"}"}',
            Reading("", (CALLED,)),
        ),
        ('{"tool_call": {"name": "", "arguments": {}}, "reply": "Hi"}', Reading("Hi", ())),
        ('{"tool_call": {"name": "f", "arguments": "{"}, "reply": "Hi"}', Reading("Hi", ())),
        ('{"tool_call": {"name": "f"}, "reply": "Hi"}', Reading("Hi", ())),
        ('{"reply": ["Hi"]} {"reply": "Ho"}', Reading("Ho", ())),
        ('{"reply": "\\ud83d"} {"reply": "Ho"}', Reading("\ufffd", ())),
        ('{"thought": "\\ud83d", "reply": "Hi \\ud83d"}', Reading("Hi \ufffd", (), "\ufffd")),
        ('{"tool_call": {"name": "f", "arguments": {"x": "\\ud83d"}}, "reply": "guess"}', None),
        ('{"tool_call": {"name": "f", "arguments": {"x": NaN}}, "reply": "guess"}', None),
        ('{"tool_call": {"name": "f\\ud83d", "arguments": {}}, "reply": ""}', None),
        ('{"name": "f", "arguments": "{\\"x\\": 1e999}"}', None),
        ('{"name": "f", "arguments": "{\\"x\\": \\"\\\\ud83d\\"}"}', None),
        ("Hello!", None),
        ('{"thought": ["x"], "reply": "Hi"}', Reading("Hi", ())),
        ('{"reply": " "}', None),
        ('{"reply": "Hi', None),
        ("5", None),
        ("", None),
    ],
)
def test_answers_are_read_leniently(text: str, expected: Reading | None) -> None:
    """In fences, in prose, as a bare call, in other words for the same; words beside a call are
    guesses."""
    assert read(text, may_call=True) == expected


async def test_a_thought_is_kept_with_its_message_and_never_sent(
    fake: OpenAIFake, provider: JsonMode
) -> None:
    """For a trace; the model reads an empty one in its place, and an answer without one keeps
    nothing."""
    fake.say(replying("Hi"))
    spoken = (await ask(provider, [user("hello")])).response.message
    assert spoken.opaque == Opaque("json", "gpt-5-mini-2025", b"hm")
    fake.say('{"thought": " ", "tool_call": null, "reply": "Fine"}')
    assert (
        await ask(provider, [user("hello"), spoken, user("how are you?")])
    ).response.message.opaque is None
    assert "hm" not in fake.requests[-1].body["messages"][2]["content"]


def test_where_no_call_is_allowed_none_is_read() -> None:
    """The words beside it count then."""
    assert read(f'{{"tool_call": {CALL}, "reply": "Hi"}}', may_call=False) == Reading("Hi", ())
    assert read(CALL, may_call=False) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello {you}!", False),
        (' {"a', True),
        ("```json", True),
        ('Well: "tool_call": {', True),
        ("", False),
    ],
)
def test_json_is_told_from_prose(text: str, expected: bool) -> None:
    """Broken JSON is for nobody's eyes."""
    assert looks_like_json(text) is expected


@pytest.mark.parametrize(
    "words", ["Hi!", '東京は\n「晴れ」\\ です。😀\t"quoted" {not: [json]}', "\u2028\b\f\r/", ""]
)
def test_a_reply_grows_letter_by_letter(words: str) -> None:
    """Whatever the pieces and the escapes, what was shown in the end is the reply."""
    dice = random.Random(words)  # noqa: S311 -- a test draws
    escaped = "".join(f"\\u{unit:04X}" for unit in memoryview(words.encode("utf-16-le")).cast("H"))
    for text in (
        replying(words),
        f'{{"tool_call": null, "reply": "{escaped}", "more": "x"}}',
        f'```{{"reply":"{escaped}"}}',
    ):
        growing, place, shown = GrowingReply(), 0, ""
        while place < len(text):
            size = dice.randint(1, 5)
            shown += growing.take(text[place : place + size])
            place += size
        assert shown == growing.shown == words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"thought": "reply", "reply": "Hi', "Hi"),
        ('{"reply": "a\\', "a"),
        ('{"reply": "a\\u30', "a"),
        (
            '{"reply": "\\uZZZZb\\ud83dabcdef"}',
            "\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}",
        ),
        (f'{{"tool_call": {CALL}, "reply": "It is sunny."}}', ""),
        (f'{{"tool_call": [{CALL}], "reply": "It is sunny."}}', ""),
        ('{"tool_call": {"reply": "deep"}}', ""),
        ("Hello", ""),
    ],
)
def test_nothing_else_is_shown(text: str, shown: str) -> None:
    """Neither thoughts nor calls nor half an escape."""
    growing = GrowingReply()
    growing.take(text)
    assert growing.shown.startswith(shown) if "ZZZZ" in text else growing.shown == shown


OURS = sorted(tool.name for tool in declared())


@pytest.mark.parametrize(
    ("choice", "null", "names"),
    [
        (AUTO, True, OURS),
        (NONE, True, []),
        (ToolChoice("required"), False, OURS),
        (ToolChoice("one", "get_weather"), False, ["get_weather"]),
    ],
    ids=lambda one: getattr(one, "mode", None),
)
def test_the_schema_heeds_the_tool_choice(choice: ToolChoice, null: bool, names: list[str]) -> None:
    """A server that enforces it leaves the model no other way."""
    call = schema_of(declared(), choice)["properties"]["tool_call"]
    branches = call.get("anyOf", [call])
    assert ({"type": "null"} in branches) is null
    assert (
        sorted(one["properties"]["name"]["enum"][0] for one in branches if one["type"] == "object")
        == names
    )


def test_the_prompt_shows_six_examples_in_two_languages() -> None:
    """Each of them an answer that can be read, in the very form that is asked for."""
    prompt = instructions("Be kind.", declared())
    assert prompt == instructions("Be kind.", declared())
    shown = [line.removeprefix("You: ") for line in prompt.splitlines() if line.startswith("You: ")]
    assert len(shown) == len(EXAMPLES) == 6
    assert all(read(line, may_call=True) for line in shown)
    assert sum(example.thought.isascii() for example in EXAMPLES) == 3
    assert instructions("", ()).startswith("Answer every message")
    assert "You have no tools." in instructions("", ())


async def test_the_transcript_is_told_in_the_form_of_the_examples(
    fake: OpenAIFake, provider: JsonMode
) -> None:
    """One call at a time, each followed by its result, whoever made them."""
    calls = [ToolCall(f"call_{name}", "get_weather", {"location": name}) for name in ("a", "b")]
    asked = model(Text("Let me look."), *calls)
    fake.say(replying("ok"))
    await ask(
        provider,
        [user("?"), asked, results(asked, {"c": 1}, {"error": "no"}), model("Sunny."), user("ok")],
    )
    spoken = [(message["role"], message["content"]) for message in fake.chats[0]["messages"][1:]]
    object_of = '{{"thought":"","tool_call":{},"reply":"{}"}}'.format
    call_of = '{{"name":"get_weather","arguments":{{"location":"{}"}}}}'.format
    assert spoken == [
        ("user", "?"),
        ("assistant", object_of(call_of("a"), "Let me look.")),
        ("user", 'Result of get_weather: {"output":{"c":1}}'),
        ("assistant", object_of(call_of("b"), "")),
        ("user", 'Result of get_weather: {"error":"no"}'),
        ("assistant", object_of("null", "Sunny.")),
        ("user", "ok"),
    ]


async def test_an_answer_that_cannot_be_read_is_asked_for_again(
    fake: OpenAIFake, provider: JsonMode
) -> None:
    """Once, with what was wrong; both requests are counted."""
    fake.say("Well, let me think.")
    fake.say(replying("It is sunny."))
    asked = await ask(provider, [user("?")], declared())
    assert (watched(asked), asked.text) == (["It is sunny."], "It is sunny.")
    assert asked.response.usage == Usage(200, 80, 20, 10)
    assert [message["role"] for message in fake.chats[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert fake.chats[1]["messages"][2]["content"] == "Well, let me think."


async def test_a_cut_answer_is_asked_for_again_shorter(
    fake: OpenAIFake, provider: JsonMode
) -> None:
    """What was shown of it is void."""
    fake.say('{"thought": "", "tool_call": null, "reply": "It is ver', finish="length")
    fake.say(replying("Sunny."))
    asked = await ask(provider, [user("?")], declared())
    assert (watched(asked), asked.text) == (["It is ver", "<restarted>", "Sunny."], "Sunny.")
    assert "shorter" in fake.chats[1]["messages"][-1]["content"]
    assert asked.response.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("first", "second", "text", "reason"),
    [
        ("Hello there!", "Hello again!", "Hello again!", "end_turn"),
        ('{"oops": 1}', '{"oops": 2}', "", "malformed"),
        ("Hm.", '```json\n{"tool_call": {"na', "", "malformed"),
        ("Hm.", '{"reply": "Half of', "Half of", "end_turn"),
    ],
)
async def test_what_cannot_be_read_twice_is_plain_text(
    fake: OpenAIFake, provider: JsonMode, first: str, second: str, text: str, reason: str
) -> None:
    """Unless it is JSON in pieces, which nobody is shown."""
    fake.say(first)
    fake.say(second)
    asked = await ask(provider, [user("?")], declared())
    assert (asked.text, asked.response.stop_reason, asked.calls) == (text, reason, [])
    assert "".join(watched(asked)) == text
    assert len(fake.chats) == 2


async def test_words_shown_before_a_call_are_void(fake: OpenAIFake, provider: JsonMode) -> None:
    """A server without the schema may let them come first."""
    fake.say('{"reply": "It is sun', f'ny.", "tool_call": {CALL}}}')
    asked = await ask(provider, [user("?")], declared())
    assert watched(asked) == ["It is sun", "ny.", "<restarted>"]
    assert (asked.text, asked.calls, asked.response.stop_reason) == ("", [CALLED], "tool_use")


async def test_a_reply_behind_prose_is_shown_whole(fake: OpenAIFake, provider: JsonMode) -> None:
    """Where it could not be followed while it came."""
    fake.say('{odd} then {"reply": "Hi"}')
    asked = await ask(provider, [user("?")], declared())
    assert ("".join(watched(asked)), asked.text) == ("Hi", "Hi")


async def test_a_server_without_schemas_is_asked_for_plain_json(
    fake: OpenAIFake, provider: JsonMode
) -> None:
    """And one without that, for nothing: the examples remain."""
    fake.fail(400, "This response_format type is unavailable now")
    fake.fail(400, "response_format is not supported")
    for _ in range(2):
        fake.say(replying("ok"))
        assert (await ask(provider, [user("?")], declared())).text == "ok"
    forms = [chat.get("response_format", {}).get("type") for chat in fake.chats]
    assert forms == ["json_schema", "json_object", None, None]
