"""Requests to a model beside the loop: for a summary, a vote, a translation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec.structs import asdict

from bot.errors import ModelError, TryAgain
from bot.providers import Completed, ModelResponse, StreamEvent
from bot.telemetry import Metrics, Span
from bot.transcript import Usage


async def read_response(
    events: AsyncGenerator[StreamEvent], purpose: str, model: str, metrics: Metrics
) -> ModelResponse:
    """The response at the end of a stream, logged and counted.

    Args:
        purpose: the outcome in log and metrics.
        model: the one that was asked; another may have answered.

    Raises:
        ModelError: the request failed.
    """
    call = Span("model", metrics)
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Completed):
                    response = event.response
                    call.end("model.called", purpose, response.model, tokens=asdict(response.usage))
                    return response
        raise TryAgain("malformed", "the model's stream ended without an answer")
    except ModelError:
        call.end("model.called", "failed", model, tokens=asdict(Usage()))
        raise
