"""Words in the form of the conventions: bounded, and without secrets."""

from __future__ import annotations

import json

import pytest

from bot import log
from bot.features.spans.words import ALL_CAP, TEXT_CAP, answer, instructions, messages, value
from bot.transcript import Media, Message, Text, ToolCall, ToolResult


def said(*parts: Text | Media | ToolCall | ToolResult, role: str = "user") -> Message:
    return Message("m1", role, parts, 1)  # type: ignore[arg-type]


def test_each_part_has_its_form() -> None:
    """Of files only the kind is told."""
    call, result = ToolCall("c1", "add", {"a": 1}), ToolResult("c1", "add", {"total": 1})
    picture = Media("ref", "image/png", data=b"pixels")
    sent = [said(Text("Hello"), picture), said(call, role="model"), said(result, role="tool")]
    assert json.loads(messages(sent)) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Hello"},
                {"type": "media", "mime_type": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "c1", "response": {"total": 1}}],
        },
    ]


def test_what_is_long_is_cut() -> None:
    """A text, a call, and of a history the oldest messages; the newest one is always there."""
    long = Text("x" * 2 * TEXT_CAP)
    (only,) = json.loads(messages([said(long)]))
    assert only["parts"][0]["content"] == "x" * TEXT_CAP + "…"
    kept = json.loads(messages([said(Text(f"{number:04d}" * 900)) for number in range(100)]))
    assert kept[-1]["parts"][0]["content"].startswith("0099")
    assert 1 < len(kept) < 10
    assert len(messages([said(*[long] * 30)] * 2)) > ALL_CAP  # one message, whatever it is
    call = said(ToolCall("c1", "add", {"a": "y" * 2 * TEXT_CAP}), role="model")
    (cut,) = json.loads(answer(call, "tool_use"))
    assert (cut["finish_reason"], len(cut["parts"][0]["arguments"])) == ("tool_call", TEXT_CAP + 1)
    assert len(value({"a": "y" * 2 * TEXT_CAP})) == TEXT_CAP + 1


@pytest.fixture
def _secret() -> None:
    log.hide(["k3y-of-mine"])


@pytest.mark.usefixtures("_secret")
def test_secrets_are_struck_out() -> None:
    """Wherever they stand."""
    assert "k3y" not in instructions("The key is k3y-of-mine.")
    assert "k3y" not in value({"key": "k3y-of-mine"})
    assert "k3y" not in messages([said(ToolResult("c1", "add", {"key": "k3y-of-mine"}))])
