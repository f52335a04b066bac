"""The stand-ins stream as the vendors do: no field and no order of events that the facts do not
hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import httpx

from tests.facts.read import JSON, Answer, answers, paths
from tests.fakes import anthropic, gemini, ollama, openai

Kind = Callable[[Any], str]

CALL = ("look_up", {"city": "Kyoto"})
ASKED = [{"role": "user", "content": "?"}]
# What the vendors document and the recorded streams happen to lack.
DOCUMENTED = {
    "usage.output_tokens_details",
    "usage.output_tokens_details.thinking_tokens",
    "usageMetadata.cachedContentTokenCount",
    *(
        f"choices.delta.tool_calls.{field}" for field in ("id", "type", "function.name")
    ),  # of a second call
}
FUNCTION = {"name": "look_up", "description": "-", "parameters": {"type": "object"}}


def streamed(url: str, body: JSON, **headers: str) -> list[Any]:
    """The events that a stand-in answers with; ``[DONE]`` is a string among them."""
    response = httpx.post(
        url, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    assert response.status_code == 200, response.text
    lines = [line for line in response.text.splitlines() if line and not line.startswith("event:")]
    read = [line.removeprefix("data: ") for line in lines]
    return [json.loads(line) if line.startswith("{") else line for line in read]


def streams(vendor: str, form: str) -> list[Answer]:
    """What a vendor has streamed."""
    return [
        one
        for given in answers(vendor).values()
        for one in given
        if one.status == 200 and one.form == form
    ]


def steps(kinds: Iterable[str]) -> set[tuple[str, str]]:
    """Which event follows which; a ping may stand anywhere."""
    named = ["", *(kind for kind in kinds if kind != "ping"), "end"]
    return set(pairwise(named))


def check(ours: list[Any], real: list[Answer], kind: Kind) -> None:
    """Every event has a kind, fields and a place that real ones have had."""
    assert steps(map(kind, ours)) <= {
        step for answer in real for step in steps(map(kind, answer.events))
    }
    known: dict[str, set[str]] = {}
    for event in (event for answer in real for event in answer.events):
        known.setdefault(kind(event), set()).update(paths(event))
    for event in ours:
        assert paths(event) - known[kind(event)] <= DOCUMENTED, kind(event)


def kind_of_anthropics(event: JSON) -> str:
    """An event's type, and of a block's what it is made of."""
    inner = event.get("content_block") or event.get("delta") or {}
    return f"{event['type']} {inner.get('type', '')}".strip()


def kind_of_openais(event: Any) -> str:
    """What an event of the chat completions API brings."""
    if isinstance(event, str):
        return event
    if not event["choices"]:
        return "usage"
    choice = event["choices"][0]
    delta = choice["delta"]
    if choice["finish_reason"]:
        return "finish"
    if "role" in delta:
        return "role"
    return "call" if "tool_calls" in delta else "text"


def test_anthropics_stand_in_streams_as_it_does() -> None:
    """The start, blocks one after the other, then the end with the tokens."""
    tool = {"name": "look_up", "description": "-", "input_schema": {"type": "object"}}
    body = {
        "model": "claude-haiku-4-5",
        "max_tokens": 100,
        "messages": ASKED,
        "tools": [tool],
        "stream": True,
    }
    with anthropic.anthropic_fake() as fake:
        fake.calls(CALL)
        fake.blocks(anthropic.text("Hello"))
        for _ in range(2):
            url, headers = f"{fake.base_url}/v1/messages", {"anthropic_version": "2023-06-01"}
            check(
                streamed(url, body, x_api_key=anthropic.KEY, **headers),
                streams("anthropic", "sse"),
                kind_of_anthropics,
            )


def test_openais_stand_in_streams_as_it_does() -> None:
    """The role first, then words or calls in pieces, the reason of the end, the tokens, and the
    mark."""
    body = {
        "model": "gpt-4o-mini",
        "messages": ASKED,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body["tools"] = [{"type": "function", "function": FUNCTION}]
    with openai.openai_fake() as fake:
        fake.calls(CALL)
        fake.say("Hello", " there")
        for _ in range(2):
            url = f"{fake.base_url.removesuffix('/v1')}/v1/chat/completions"
            check(
                streamed(url, body, authorization=f"Bearer {openai.KEY}"),
                streams("openai", "sse"),
                kind_of_openais,
            )


def test_ollamas_stand_in_streams_as_it_does() -> None:
    """Lines of a message each, the last one with the counts."""
    with ollama.ollama_fake() as fake:
        fake.say("Hello", " there")
        ours = streamed(f"{fake.base_url}/api/chat", {"model": "llama3.2", "messages": ASKED})
    check(ours, streams("ollama", "ndjson"), lambda line: "end" if line["done"] else "words")


def test_geminis_stand_in_streams_as_it_does() -> None:
    """Candidates with parts in every event, the reason of the end in the last."""
    body = {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}
    with gemini.gemini_fake_in_thread() as fake:
        fake.say("Hello", " there")
        url = f"{fake.base_url}/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse"
        ours = streamed(url, body, x_goog_api_key=gemini.KEY)
    check(
        ours,
        streams("gemini", "sse"),
        lambda event: event["candidates"][0].get("finishReason", "more"),
    )
