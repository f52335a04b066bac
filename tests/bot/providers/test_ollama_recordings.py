"""Every recorded exchange with Ollama, replayed: its native ones natively, the others as the OpenAI
they imitate."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.errors import RequestRefused, TryAgain
from bot.providers.ollama.client import Ollama
from bot.providers.openai.client import OpenAI
from bot.transcript import Usage
from tests.bot.providers.asking import ask, user
from tests.fakes.ollama import ollama_fake
from tests.fakes.openai import KEY, openai_fake
from tests.shared_data import recorded
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

NATIVE = (
    "01_native_api_chat.json",
    "02_native_api_chat_stream_ndjson.json",
    "03_native_api_chat_tool_calls.json",
)
DOCS = "10_docs_examples_native_tool_calls.json"
IMITATING = ("06_openai_compat_tools_qwen3.json", "09_error_400_context.json")
TOOLS = [
    ToolDefinition(name, "-", {"type": "object"}, {})
    for name in ("get_weather", "get_current_weather")
]


def content(name: str) -> JSON:
    """A recorded file."""
    read: JSON = json.loads(recorded("ollama", name).read_text("utf-8"))
    return read


def lines_of(response: JSON) -> list[JSON]:
    """An answer as the lines of a stream, whatever form it was recorded in."""
    if response["format"] == "json":
        return [response["body"]]
    return [json.loads(line) for line in response["body_text"].splitlines()]


@pytest.mark.parametrize("name", NATIVE)
async def test_a_recorded_answer_is_understood(name: str) -> None:
    """Its words, its tokens, its end, and who answered."""
    for interaction in content(name)["interactions"]:
        lines = lines_of(interaction["response"])
        last = lines[-1]
        with ollama_fake() as fake:
            fake.lines(*lines)
            provider = Ollama("llama3.2", fake.base_url)
            asked = await ask(provider, [user("Tell me a joke about OpenTelemetry")])
            await provider.aclose()
        assert asked.text == "".join(line["message"]["content"] for line in lines)
        expected = (
            "end_turn",
            Usage(last["prompt_eval_count"], 0, last["eval_count"]),
            last["model"],
        )
        assert (asked.response.stop_reason, asked.response.usage, asked.response.model) == expected


async def test_the_documented_calls_are_understood() -> None:
    """Whole in the last line, or in a line before it; a stream without that one has broken off."""
    begun, *whole = content(DOCS)["examples"]
    reported = []
    with ollama_fake() as fake:
        provider = Ollama("llama3.2", fake.base_url)
        ending = {**whole[0], "message": {"role": "assistant", "content": ""}}
        for lines in ((begun, ending), *((one,) for one in whole)):
            fake.lines(*lines)
            reported.append((await ask(provider, [user("?")], TOOLS)).calls)
        fake.lines(begun)
        with pytest.raises(TryAgain):
            await ask(provider, [user("?")], TOOLS)
        await provider.aclose()
    tokyo, paris = {"city": "Tokyo"}, {"format": "celsius", "location": "Paris, FR"}
    assert reported == [
        [("get_weather", tokyo)],
        [("get_weather", tokyo)],
        [("get_current_weather", paris)],
    ]


async def test_ollamas_imitation_of_openai_is_understood() -> None:
    """By the provider that speaks that language."""
    reported = []
    for interaction in content(IMITATING[0])["interactions"]:
        reported.append(await _through_openai(interaction["response"]))
    called = [call["function"] for call in _message(0).get("tool_calls", ())]
    assert reported[0] == ("", [(call["name"], json.loads(call["arguments"])) for call in called])
    assert reported[-1] == (_message(-1)["content"], [])


async def test_a_recorded_refusal_of_a_long_conversation() -> None:
    """No other attempt is made."""
    [interaction] = content(IMITATING[1])["interactions"]
    with pytest.raises(RequestRefused, match="prompt too long"):
        await _through_openai(interaction["response"])


def test_every_recording_is_replayed() -> None:
    """A new recording without an expected outcome fails here."""
    assert {path.name for path in recorded("ollama").glob("*.json")} == {*NATIVE, DOCS, *IMITATING}


def _message(place: int) -> JSON:
    message: JSON = content(IMITATING[0])["interactions"][place]["response"]["body"]["choices"][0][
        "message"
    ]
    return message


async def _through_openai(response: JSON) -> tuple[str, list[tuple[str, JSON]]]:
    with openai_fake() as fake:
        fake.raw(json.dumps(response["body"]).encode(), response["status"], "application/json")
        provider = OpenAI(KEY, "small-local-model", fake.base_url)
        try:
            asked = await ask(provider, [user("?")], TOOLS)
        finally:
            await provider.aclose()
    return asked.text, asked.calls
