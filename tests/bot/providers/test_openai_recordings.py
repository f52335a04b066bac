"""Every recorded exchange with OpenAI and servers like it, replayed: what they have really sent is
understood."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from bot.errors import ModelError
from bot.providers.openai.client import OpenAI
from bot.transcript import Message, ToolCall, Usage
from tests.bot.providers.asking import ask, model, results, user
from tests.fakes.openai import KEY, SSE, openai_fake
from tests.shared_data import RECORDED, cases, recorded
from toolset.tool import ToolDefinition

JSON = dict[str, Any]
FOLDERS = ("openai", "openai_compatible")
FILES = sorted(
    f"{folder}/{path.name}" for folder in FOLDERS for path in (RECORDED / folder).glob("*.json")
)
REFUSED = {
    "openai/06_error_404_model.json": ["model_unknown"],
    "openai/07_error_400_role.json": ["request_refused"],
    "openai_compatible/02_groq_400_tool_use_failed.json": ["malformed"],
    "openai_compatible/05_openrouter_429.json": ["rate_limited"] * 3,
}


@dataclass(frozen=True)
class Exchange:
    """One request and its answer."""

    request: JSON
    response: JSON

    @property
    def body(self) -> bytes:
        """The answer as it came."""
        return (self.response.get("body_text") or json.dumps(self.response["body"])).encode()

    @property
    def expected(self) -> tuple[str, list[tuple[str, JSON]], Usage]:
        """Words, calls and usage, read from the recording without any of our code."""
        if self.response["format"] == "json":
            message, counts = (
                self.response["body"]["choices"][0]["message"],
                self.response["body"]["usage"],
            )
        else:
            message, counts = _gathered(self.response["body_text"])
        called = [call["function"] for call in message.get("tool_calls") or ()]
        thinking = counts.get("completion_tokens_details", {}).get("reasoning_tokens", 0)
        cached = counts.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        usage = Usage(
            counts["prompt_tokens"], cached, counts["completion_tokens"] - thinking, thinking
        )
        calls = [(call["name"], json.loads(call["arguments"])) for call in called]
        return message.get("content") or "", calls, usage

    @property
    def tools(self) -> list[ToolDefinition]:
        """The tools that were declared."""
        declared = [tool["function"] for tool in self.request.get("tools", ())]
        return [
            ToolDefinition(tool["name"], tool["description"] or "-", tool["parameters"], {})
            for tool in declared
        ]

    @property
    def messages(self) -> list[Message]:
        """What was said so far, in neutral words."""
        spoken: list[Message] = []
        for message in self.request["messages"]:
            if message["role"] == "user":
                spoken.append(user(message["content"]))
            elif message["role"] == "assistant":
                spoken.append(model(*[_call(call) for call in message["tool_calls"]]))
            elif message["role"] == "tool":
                spoken.append(results(spoken[-1], {"output": message["content"]}))
        return spoken


def _call(call: JSON) -> ToolCall:
    return ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))


def _gathered(stream: str) -> tuple[JSON, JSON]:
    """A stream of one call or of words as one message, and its usage."""
    lines = [
        line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: {")
    ]
    events = [json.loads(line) for line in lines]
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    pieces = [call["function"] for delta in deltas for call in delta.get("tool_calls", ())]
    function = {
        "name": "".join(piece.get("name", "") for piece in pieces),
        "arguments": "".join(piece["arguments"] for piece in pieces),
    }
    content = "".join(delta.get("content") or "" for delta in deltas)
    return {"content": content, "tool_calls": [{"function": function}] if pieces else []}, events[
        -1
    ]["usage"]


def exchanges(name: str) -> list[Exchange]:
    """The recorded exchanges of a file, in order."""
    interactions = json.loads(recorded(*name.split("/")).read_text("utf-8"))["interactions"]
    return [Exchange(one["request"]["body"], one["response"]) for one in interactions]


@pytest.mark.parametrize("name", cases(FILES, "every recorded exchange with OpenAI"))
async def test_a_recording_is_understood(name: str) -> None:
    """Words, calls and usage as they stand in the recording, errors as what they mean; the requests
    stay strict."""
    refused = []
    for exchange in exchanges(name):
        with openai_fake() as fake:
            provider = OpenAI(KEY, "gpt-4o-mini", fake.base_url)
            content_type = SSE if exchange.response["format"] == "sse" else "application/json"
            for _ in range(2):  # a refused system role is asked again
                fake.raw(exchange.body, exchange.response["status"], content_type)
            try:
                asked = await ask(provider, exchange.messages, exchange.tools)
            except ModelError as error:
                refused.append(error.apology)
            else:
                assert (asked.text, asked.calls, asked.response.usage) == exchange.expected
                assert asked.response.stop_reason == ("tool_use" if asked.calls else "end_turn")
            finally:
                await provider.aclose()
    assert refused == REFUSED.get(name, [])


def test_every_recording_is_replayed() -> None:
    """Both folders have files where they are there at all."""
    recorded("openai")
    assert len(FILES) >= 8


async def test_a_signature_goes_back_to_where_it_came_from() -> None:
    """Gemini behind OpenAI's form gives no id and wants its thought signature back."""
    exchange = exchanges("openai_compatible/01_gemini_openai_endpoint_calls_without_id.json")[0]
    with openai_fake() as fake:
        fake.extras = True
        fake.raw(exchange.body, content_type="application/json")
        fake.say("Noon.")
        provider = OpenAI(KEY, "gpt-4o-mini", fake.base_url)
        asked = (await ask(provider, exchange.messages, exchange.tools)).response.message
        await ask(
            provider, [*exchange.messages, asked, results(asked, {"time": "12:00"})], exchange.tools
        )
        await provider.aclose()
    sent = fake.chats[1]["messages"][2]
    assert (
        sent["extra_content"] == exchange.response["body"]["choices"][0]["message"]["extra_content"]
    )
    assert asked.calls[0].id.startswith("call_")
    assert (
        sent["tool_calls"][0]["id"]
        == fake.chats[1]["messages"][3]["tool_call_id"]
        == asked.calls[0].id
    )
