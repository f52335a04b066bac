"""The variables that OpenTelemetry has for all programs: what is taken, and what is refused."""

from __future__ import annotations

import pytest

from bot.errors import SettingsError
from bot.features.spans.settings import Config
from bot.settings import load, tool_config

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "https://host"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:secret@collector", "https://host"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf alone"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no value", "name=value"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0", "greater than 0"),
        (CONTENT, "SOME", "SPAN_AND_EVENT, or true"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, fix: str
) -> None:
    """With the variable, and what to write."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as refused:
        tool_config(Config)
    assert fix in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("", "NO_CONTENT"),
        ("false", "NO_CONTENT"),
        ("span_only", "SPAN_ONLY"),
        ("EVENT_ONLY", "EVENT_ONLY"),
        ("True", "SPAN_AND_EVENT"),
    ],
)
def test_content_is_asked_for_in_old_words_and_new(
    monkeypatch: pytest.MonkeyPatch, value: str, content: str
) -> None:
    """In any case; nothing, and the old no, are no content."""
    monkeypatch.setenv(CONTENT, value)
    assert tool_config(Config).otel_instrumentation_genai_capture_message_content == content


def test_the_start_says_where_turns_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning where people's words go too; nothing where none are sent."""
    assert tool_config(Config).describe(load()) == []
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/")
    (line,) = tool_config(Config).describe(load())
    assert (line.result, line.detail) == (
        "ok",
        "collector:4318 gets every turn, without words",
    )
    monkeypatch.setenv(CONTENT, "true")
    (line,) = tool_config(Config).describe(load())
    assert (line.result, "with people's words" in line.detail) == ("warning", True)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert tool_config(Config).describe(load()) == []
