"""Requests to a model beside the loop are logged and counted like those of a turn."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from bot.agent.single_request import read_response
from bot.errors import ModelError, TryAgain
from bot.providers import Request
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics


def reported(logs: list[EventDict]) -> list[tuple[str, str, str]]:
    return [(line["event"], line["outcome"], line["model"]) for line in logs]


async def test_an_answered_request_is_counted_by_its_purpose() -> None:
    """With the model that has answered."""
    model = Scripted([Step("Hi!")])
    with capture_logs() as logs:
        response = await read_response(model.stream(Request("", [])), "summary", "asked", Metrics())
    assert response.message.text == "Hi!"
    assert reported(logs) == [("model.called", "summary", "scripted")]


async def test_a_failed_request_is_counted_too() -> None:
    """Its error goes on."""
    model = Scripted([Step(error=TryAgain("busy", "503"))])
    with capture_logs() as logs, pytest.raises(ModelError, match="503"):
        await read_response(model.stream(Request("", [])), "summary", "asked", Metrics())
    assert reported(logs) == [("model.called", "failed", "asked")]
