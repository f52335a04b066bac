"""Asking a provider, and what it is asked with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import toolset
from bot.providers import AUTO, Completed, ModelResponse, Provider, Request, StreamEvent, ToolChoice
from bot.transcript import Message, Part, Text, ToolResult, new_id
from toolset.decorator import schemas_of
from toolset.tool import ToolDefinition


@dataclass(frozen=True)
class Reply:
    """One whole stream."""

    events: tuple[StreamEvent, ...]

    @property
    def response(self) -> ModelResponse:
        """What the stream was completed with."""
        last = self.events[-1]
        assert isinstance(last, Completed)
        return last.response

    @property
    def text(self) -> str:
        return self.response.message.text

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and arguments of each call."""
        return [(call.name, call.arguments) for call in self.response.message.calls]


async def ask(
    provider: Provider,
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition] = (),
    choice: ToolChoice = AUTO,
) -> Reply:
    """Stream one answer to its end."""
    return Reply(
        tuple(
            [event async for event in provider.stream(Request("Be kind.", messages, tools, choice))]
        )
    )


def user(*parts: str | Part) -> Message:
    """A message of the user's."""
    return Message(
        new_id("m"),
        "user",
        tuple(Text(part) if isinstance(part, str) else part for part in parts),
        1_000,
    )


def model(*parts: str | Part) -> Message:
    """A message of the model's."""
    return Message(
        new_id("m"),
        "model",
        tuple(Text(part) if isinstance(part, str) else part for part in parts),
        2_000,
    )


def results(asked: Message, *responses: dict[str, Any]) -> Message:
    """The results of a model message's calls, in their order; an ``error`` makes one an error."""
    reported = zip(asked.calls, responses, strict=True)
    parts = tuple(
        ToolResult(call.id, call.name, response, "error" in response) for call, response in reported
    )
    return Message(new_id("m"), "tool", parts, 3_000)


def declared() -> tuple[ToolDefinition, ...]:
    """The project's own tools, as a model is told of them."""
    return tuple(
        ToolDefinition(tool.name, tool.description, *schemas_of(tool)) for tool in toolset.find()
    )
