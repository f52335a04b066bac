"""What a recorded request asked, whoever's vendor it went to; and what a question leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from bot.features.traces.asked import asked_in
from bot.features.traces.question import without_names
from bot.features.traces.shown import MOST_LINES, MOST_SHOWN, cut, difference, pretty
from bot.transcript import Text, ToolCall, ToolResult
from tests.growth import assert_linear


def encode(value: Any) -> str:
    """JSON within JSON."""
    return json.encode(value).decode()


CALL: dict[str, Any] = {"name": "get_weather", "args": {"location": "Tokyo"}}
DECLARED = {"name": "get_weather", "parameters": {}}
WRAPPED = {"output": {"sky": "sun"}}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Rain?"}, {"inlineData": {"data": "aGk="}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": CALL}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "get_weather", "response": WRAPPED}}],
        },
        {"role": "model", "parts": [{"text": "Sun."}]},
    ],
    "tools": [{"functionDeclarations": [DECLARED]}, {"googleSearch": {}}],
}
ANTHROPIC = {
    "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Rain?"},
                {"type": "image", "source": {"type": "base64", "data": "aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "tool_use", "id": "c", "name": "get_weather", "input": CALL["args"]},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": encode(WRAPPED)}],
        },
        {"role": "assistant", "content": "Sun."},
    ],
    "tools": [DECLARED],
}
OPENAI = {
    "messages": [
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Rain?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c",
                    "function": {"name": "get_weather", "arguments": encode(CALL["args"])},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": encode(WRAPPED)},
        {"role": "assistant", "content": "Sun."},
    ],
    "tools": [{"type": "function", "function": DECLARED}],
}
OLLAMA = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Rain?", "images": ["aGk="]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "get_weather", "arguments": CALL["args"]}}],
        },
        {"role": "tool", "content": encode(WRAPPED), "tool_name": "get_weather"},
        {"role": "assistant", "content": "Sun."},
    ],
    "tools": [{"type": "function", "function": DECLARED}],
}


@pytest.mark.parametrize("body", [GEMINI, ANTHROPIC, OPENAI, OLLAMA])
def test_every_vendors_request_is_read(body: dict[str, Any]) -> None:
    """Instructions, words, calls with their results, and the names of tools; files are named only,
    and thoughts are left out."""
    asked = asked_in(json.encode(body))
    assert asked is not None
    assert asked.system == "Be kind."
    assert asked.tools == ("get_weather",)
    shape = [(message.role, [type(part) for part in message.parts]) for message in asked.messages]
    assert shape == [
        ("user", [Text]),
        ("user", [Text]),
        ("model", [ToolCall]),
        ("tool", [ToolResult]),
        ("model", [Text]),
    ]
    rain, file, model, tool, last = asked.messages
    assert (rain.text, file.text, last.text) == ("Rain?", "[file]", "Sun.")
    (call,), (result,) = model.calls, tool.results
    assert (call.name, call.arguments) == ("get_weather", {"location": "Tokyo"})
    assert (result.call_id, result.name, result.response) == (call.id, call.name, {"sky": "sun"})


def test_what_the_vendor_keeps_is_part_of_what_was_asked() -> None:
    """It stands in the place of its name; without it the request is not whole."""
    held = ("systemInstruction", "tools")
    named = {name: value for name, value in GEMINI.items() if name not in held}
    named["cachedContent"] = "cachedContents/1"
    cached = json.encode({name: GEMINI[name] for name in held})
    asked, whole = asked_in(json.encode(named), cached), asked_in(json.encode(GEMINI))
    assert asked is not None
    assert whole is not None
    assert (asked.system, asked.tools) == (whole.system, whole.tools) != ("", ())
    assert len(asked.messages) == len(whole.messages)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"7",
        b'{"messages": []}',
        b'{"messages": 7}',
        b'{"messages": [7, null, [], {"role": "user"}, {"content": [{"text": 7}, 7]}]}',
        b'{"cachedContent": "x", "contents": [{"role": "user", "parts": [{"text": "a"}]}]}',
        b"[" * 100_000,
        b"\xff{",
    ],
)
def test_what_is_no_whole_request_is_none(body: bytes) -> None:
    """However deep or damaged it is."""
    assert asked_in(body) is None


def test_odd_requests_are_read_as_far_as_they_go() -> None:
    """A result without its call is text; arguments and tools may be anything."""
    messages = [
        {"role": "tool", "tool_call_id": "gone", "content": "sun"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": "{"}}, 7]},
        {"role": "tool", "tool_call_id": "other", "content": "no JSON"},
    ]
    asked = asked_in(json.encode({"messages": messages, "tools": [7, {"function": 7}, {}]}))
    assert asked is not None
    result, call, last = asked.messages
    assert (result.text, call.calls[0].arguments) == ("sun", {})
    assert last.results[0].response == {"output": "no JSON"}
    assert asked.tools == ()
    alone = asked_in(b'{"instructions": "Be kind.", "input": "Rain?"}')
    assert alone is not None
    assert (alone.system, [one.text for one in alone.messages]) == ("Be kind.", ["Rain?"])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ask Mei Tanaka, or <@U012ABCDEF>", "Ask [name], or [id]"),
        ("mei.t+x@mail.example.co.jp wrote", "[id] wrote"),
        ("call 090-1234-5678 now", "call [id] now"),
        ("sk-proj-1234567890abcdefghij", "[id]"),
        ("room 12 at 18:00, 3 people", "room 12 at 18:00, 3 people"),
        ("U0123456789abcdef0123456789abcdef said", "[id] said"),
        ("C012AB3CD wrote", "[id] wrote"),
        ("UNIVERSITY and Tokyo2020", "UNIVERSITY and Tokyo2020"),
    ],
)
def test_names_and_ids_are_replaced(text: str, left: str) -> None:
    """What the turn knows as a name, and what looks like an id, an address or a number."""
    assert without_names(text, ["Mei Tanaka", "Mei", "", "x"]) == left


def test_four_times_the_text_takes_four_times_the_work() -> None:
    """Whoever wrote it."""
    assert_linear(lambda text: without_names(text, ["Mei"]))
    assert_linear(lambda text: difference(pretty(text.encode()), pretty(text.encode())))


def test_only_what_lies_between_equal_lines_differs() -> None:
    """And no more of it is shown than anybody reads."""
    before, after = pretty(b'{"a": 1, "b": 2, "c": 3}'), pretty(b'{"a": 1, "b": 5, "c": 3}')
    assert difference(before, after) == {
        "same_before": 2,
        "same_after": 2,
        "gone": ['"b": 2,'],
        "new": ['"b": 5,'],
        "more": 0,
    }
    assert difference(before, before)["new"] == []
    many = [str(number) for number in range(2 * MOST_LINES)]
    assert difference([], many)["more"] == MOST_LINES
    assert pretty(b"no JSON\nat all") == ["no JSON", "at all"]
    assert len(cut("x" * 2 * MOST_SHOWN)) == MOST_SHOWN
