"""The stand-in for Ollama refuses what the real server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.ollama import KEY, OllamaFake, call, ollama_fake

JSON = dict[str, Any]

QUESTION: JSON = {"role": "user", "content": "?"}
TOOL: JSON = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def said(*messages: JSON, model: str = "qwen3", **fields: Any) -> JSON:
    """A request with these messages."""
    return {"model": model, "messages": [*messages], **fields}


GO = "json: cannot unmarshal {} into Go struct field ChatRequest.{} of type {}"
ARGUMENTS = "messages.tool_calls.function.arguments"
REFUSED: list[tuple[JSON, str]] = [
    ({"messages": [QUESTION]}, "model is required"),
    (said({"role": "model", "content": "?"}), "invalid role: model"),
    (
        said({"role": "user", "content": [QUESTION]}),
        GO.format("array", "messages.content", "string"),
    ),
    (
        said({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
        GO.format("string", ARGUMENTS, "api.ToolCallFunctionArguments"),
    ),
    (said({**QUESTION, "images": ["?"]}), "illegal base64 data"),
    (said(QUESTION, options={"num_ctx": "8k"}), GO.format("string", "options.num_ctx", "int")),
    (said(QUESTION, think="low"), 'think value "low" is not supported for this model'),
    (said(QUESTION, model="llama3.2", think=True), '"llama3.2" does not support thinking'),
    (
        said(QUESTION, model="gemma:2b", tools=[TOOL]),
        "registry.ollama.ai/library/gemma:2b does not support tools",
    ),
]
TAKEN: list[JSON] = [
    said(QUESTION, unknown=1),
    said(
        QUESTION,
        {"role": "assistant", "tool_calls": [call("f", {})]},
        {"role": "tool", "content": "ok"},
    ),
    said({**QUESTION, "images": ["eA=="]}, tools=[TOOL], think=True),
    said(QUESTION, model="llama3.2", think=False),
    said(QUESTION, model="gpt-oss:20b", think="low"),
]


@pytest.fixture
def fake() -> Iterator[OllamaFake]:
    """The server."""
    with ollama_fake() as fake:
        yield fake


def post(fake: OllamaFake, body: JSON, path: str = "/api/chat", key: str = "") -> httpx.Response:
    """One request, by hand."""
    return httpx.post(
        fake.base_url + path, json=body, headers={"Authorization": f"Bearer {key}"} if key else {}
    )


def test_bad_requests_are_refused_in_the_servers_words(fake: OllamaFake) -> None:
    """400; and the answer that was planned is kept for the next one."""
    fake.say("ok")
    for body, words in REFUSED:
        response = post(fake, body)
        assert response.status_code == 400, body
        assert words in response.json()["error"], body
    assert post(fake, said(QUESTION)).status_code == 200


def test_good_requests_are_taken(fake: OllamaFake) -> None:
    """Unknown fields are ignored."""
    for body in TAKEN:
        fake.say("ok")
        response = post(fake, body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "application/x-ndjson"


def test_what_is_not_there(fake: OllamaFake) -> None:
    """A model, a path, an answer."""
    response = post(fake, said(QUESTION, model="mistral"))
    assert (response.status_code, response.json()) == (404, {"error": "model 'mistral' not found"})
    assert post(fake, {}, "/v1/chat").status_code == 404
    assert post(fake, said(QUESTION)).status_code == 500


def test_a_server_on_the_internet_wants_a_key(fake: OllamaFake) -> None:
    """One of one's own wants none."""
    fake.wants_key = True
    fake.say("ok")
    assert [post(fake, said(QUESTION), key=key).status_code for key in ("", "wrong", KEY)] == [
        401,
        401,
        200,
    ]
