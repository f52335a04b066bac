"""Every recorded exchange with Anthropic, replayed: what it really sent is understood, and sent
back as it wants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from bot.errors import ModelUnusable
from bot.providers.anthropic.client import Anthropic
from bot.transcript import Message, Usage
from tests.bot.providers.asking import ask, results, user
from tests.fakes.anthropic import (
    KEY,
    START,
    AnthropicFake,
    anthropic_fake,
    ending,
    events_of,
    sse,
    thoughts_in,
)
from tests.fakes.streams import Outgoing
from tests.shared_data import recorded
from toolset.tool import ToolDefinition

JSON = dict[str, Any]
Told = tuple[str, list[tuple[str, JSON]], Usage]  # words, calls, tokens

# Per file, how each of its answers ends, and a model of today that thinks like the recorded one.
CONVERSATIONS = {
    "01_tool_use_roundtrip.json": ("claude-opus-4-6", ["tool_use", "end_turn"]),
    "03_stream_tool_use_multi_turn.json": (
        "claude-haiku-4-5",
        ["tool_use", "end_turn", "tool_use", "end_turn"],
    ),
    "04_tool_with_thinking.json": ("claude-haiku-4-5", ["tool_use", "end_turn"]),
    "08_stream_short.json": ("claude-opus-4-6", ["end_turn"]),
}
ERRORS = {"07_error_401.json"}


@dataclass(frozen=True)
class Exchange:
    """One request and its answer."""

    request: JSON
    response: JSON

    @property
    def events(self) -> list[JSON]:
        """The answer as the events of a stream, whatever form it was recorded in."""
        if self.response["format"] == "sse":
            lines = self.response["body_text"].splitlines()
            return [
                json.loads(line.removeprefix("data: "))
                for line in lines
                if line.startswith("data: ")
            ]
        body = self.response["body"]
        start = {**START, "message": {**body, "content": [], "stop_reason": None}}
        return [start, *events_of(body["content"]), *ending(body["stop_reason"], body["usage"])]

    @property
    def outgoing(self) -> Outgoing:
        """The answer, a recorded stream as the very bytes."""
        if self.response["format"] == "sse":
            return Outgoing((self.response["body_text"].encode(),))
        return Outgoing(tuple(sse(event) for event in self.events))

    @property
    def blocks(self) -> list[JSON]:
        """The answer's blocks, gathered without any of our code."""
        blocks: dict[int, JSON] = {}
        for event in self.events:
            if event["type"] == "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "written": ""}
            elif event["type"] == "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                block["written"] += delta.get("text") or delta.get("partial_json") or ""
        return list(blocks.values())

    @property
    def expected(self) -> Told:
        """Words, calls and usage."""
        words = "".join(block["written"] for block in self.blocks if block["type"] == "text")
        used = [block for block in self.blocks if block["type"] == "tool_use"]
        [counts] = [event["usage"] for event in self.events if event["type"] == "message_delta"]
        calls = [(block["name"], json.loads(block["written"] or "{}")) for block in used]
        cached = counts["cache_read_input_tokens"]
        return words, calls, Usage(counts["input_tokens"] + cached, cached, counts["output_tokens"])

    @property
    def tools(self) -> list[ToolDefinition]:
        """The tools that were declared."""
        declared = self.request.get("tools", ())
        return [
            ToolDefinition(tool["name"], tool["description"], tool["input_schema"], {})
            for tool in declared
        ]


def exchanges(name: str) -> list[Exchange]:
    """The recorded exchanges of a file, in order."""
    interactions = json.loads(recorded("anthropic", name).read_text("utf-8"))["interactions"]
    return [Exchange(one["request"]["body"], one["response"]) for one in interactions]


async def replay(fake: AnthropicFake, name: str) -> list[tuple[Told, str]]:
    """Hold the recorded conversation again, our own way, and return what each answer comes to."""
    asked_of, _ = CONVERSATIONS[name]
    provider = Anthropic(KEY, asked_of, fake.base_url)
    messages: list[Message] = []
    answers: list[tuple[Told, str]] = []
    for exchange in exchanges(name):
        if not (messages and messages[-1].role == "tool"):
            messages.append(user(exchange.request["messages"][-1]["content"][0]["text"]))
        fake.thoughts.setdefault(asked_of, []).extend(thoughts_in(exchange.events))
        fake.answer(exchange.outgoing)
        asked = await ask(provider, messages, exchange.tools)
        answers.append(
            ((asked.text, asked.calls, asked.response.usage), asked.response.stop_reason)
        )
        messages.append(asked.response.message)
        if asked.calls:
            messages.append(
                results(asked.response.message, *({"output": "ok"} for _ in asked.calls))
            )
    await provider.aclose()
    return answers


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_a_recorded_conversation_is_understood(name: str) -> None:
    """Words, calls and usage as they stand in the recording; the requests satisfy the strict
    stand-in."""
    with anthropic_fake() as fake:
        answers = await replay(fake, name)
    _, ends = CONVERSATIONS[name]
    assert answers == [(one.expected, end) for one, end in zip(exchanges(name), ends, strict=True)]


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_we_send_what_the_recorded_client_sent(name: str) -> None:
    """The model's turns are the recorded ones, thoughts with their signatures included."""
    with anthropic_fake() as fake:
        await replay(fake, name)
        ours = [_written_by_model(body) for body in fake.messages]
    assert ours == [_written_by_model(exchange.request) for exchange in exchanges(name)]


async def test_a_recorded_refusal_of_the_key() -> None:
    """The operator hears which variable to fix."""
    [exchange] = exchanges("07_error_401.json")
    body = json.dumps(exchange.response["body"]).encode()
    with anthropic_fake() as fake:
        fake.answer(
            Outgoing((body,), status=exchange.response["status"], content_type="application/json")
        )
        provider = Anthropic(KEY, "claude-haiku-4-5", fake.base_url)
        with pytest.raises(ModelUnusable) as raised:
            await ask(provider, [user("Hello")])
        await provider.aclose()
    assert (raised.value.apology, len(fake.requests)) == ("key_refused", 1)


def test_every_recording_is_replayed() -> None:
    """A new recording without an expected outcome fails here."""
    assert {
        path.name for path in recorded("anthropic").glob("*.json")
    } == CONVERSATIONS.keys() | ERRORS


def _written_by_model(body: JSON) -> list[JSON]:
    return [message for message in body["messages"] if message["role"] == "assistant"]
