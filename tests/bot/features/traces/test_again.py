"""What a recorded request asked, whoever's vendor it went to; and what a question leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from bot.features.traces.again import asked_in, without_names
from bot.features.traces.shown import MOST_LINES, MOST_SHOWN, cut, difference, pretty
from tests.growth import assert_linear

CALL = {"name": "get_weather", "args": {"location": "Tokyo"}}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be kind."}], "role": "user"},
    "contents": [
        {"role": "user", "parts": [{"text": "Rain?"}, {"inlineData": {"data": "aGk="}}]},
        {"role": "model", "parts": [{"functionCall": CALL}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": "sun"}}}]},
        {"role": "model", "parts": [{"text": "Sun."}]},
    ],
    "tools": [{"functionDeclarations": []}],
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
        {"role": "assistant", "content": [{"type": "tool_use", **CALL}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "sun"}]},
        {"role": "assistant", "content": "Sun."},
    ],
}
OPENAI = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Rain?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"function": CALL}]},
        {"role": "tool", "content": "sun"},
        {"role": "assistant", "content": "Sun."},
    ],
}


@pytest.mark.parametrize("body", [GEMINI, ANTHROPIC, OPENAI])
def test_every_vendors_request_becomes_texts(body: dict[str, Any]) -> None:
    """Instructions, words, calls and results in their order; files are named only."""
    asked = asked_in(json.encode(body))
    assert asked is not None
    system, messages = asked
    assert system == "Be kind."
    assert [message.role for message in messages] == ["user", "model", "user", "model"]
    first, call, result, last = [message.text for message in messages]
    assert first == "Rain?\n[file]"
    assert "get_weather" in call
    assert "Tokyo" in call
    assert "sun" in result
    assert last == "Sun."


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"7", b'{"messages": []}', b'{"messages": 7}', b"[" * 100_000, b"\xff{"],
)
def test_what_is_no_request_is_none(body: bytes) -> None:
    """However deep or damaged it is."""
    assert asked_in(body) is None


def test_a_text_alone_is_a_message() -> None:
    """As some vendors take it."""
    asked = asked_in(b'{"instructions": "Be kind.", "input": "Rain?"}')
    assert asked is not None
    assert (asked[0], [message.text for message in asked[1]]) == ("Be kind.", ["Rain?"])


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
