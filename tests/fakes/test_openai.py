"""The stand-in for OpenAI refuses what the real service refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.fakes.openai import KEY, USAGE, OpenAIFake, openai_fake

JSON = dict[str, Any]

QUESTION: JSON = {"role": "user", "content": "?"}
SAID: JSON = {"role": "assistant", "content": "!"}
TOOL: JSON = {"type": "function", "function": {"name": "f"}}
SHUT: JSON = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def called(*ids: str, **fields: Any) -> JSON:
    """A message of the model's that calls."""
    calls = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}", **fields}}
        for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> JSON:
    """The message that answers one call."""
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def said(*messages: JSON, **fields: Any) -> JSON:
    """A request with these messages."""
    return {"model": "gpt-5-mini", "stream": True, "messages": list(messages), **fields}


def file(**fields: str) -> JSON:
    """A file of a user's."""
    return {"role": "user", "content": [{"type": "file", "file": fields}]}


def image(url: str, role: str = "user") -> JSON:
    """A message with a picture."""
    return {"role": role, "content": [{"type": "image_url", "image_url": {"url": url}}]}


def declared(strict: bool = False, **parameters: Any) -> JSON:
    """A tool with these parameters."""
    return {
        "type": "function",
        "function": {"name": "f", "strict": strict, "parameters": parameters},
    }


def formed(strict: bool, **schema: Any) -> JSON:
    """A form for the answer."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": strict, "schema": schema},
    }


REFUSED: list[tuple[Any, str]] = [
    ([], "We could not parse the JSON body"),
    (said(QUESTION, top_k=5), "Unrecognized request argument supplied: top_k"),
    (said(), "[] is too short - 'messages'"),
    (
        said(QUESTION, stream=False, stream_options={"include_usage": True}),
        "only allowed when 'stream' is enabled",
    ),
    (said({"role": "robot", "content": "?"}), "Invalid value: 'robot'."),
    (
        said({**QUESTION, "reasoning_content": "Hm."}),
        "Unknown parameter: 'messages[0].reasoning_content'.",
    ),
    (
        said({"role": "user", "content": None}),
        "Invalid value for 'content': expected a string, got null.",
    ),
    (
        said(image("data:audio/wav;base64,eA==")),
        "Invalid MIME type. Only image types are supported.",
    ),
    (said(file(file_data="data:application/pdf;base64,JVBERi0x")), "Missing required parameter"),
    (said(file(filename="a.txt", file_data="data:text/plain;base64,eA==")), "Invalid file data."),
    (said(file(filename="a.pdf", size="1")), "Unknown parameter"),
    (said(image("https://example.com/a.png", "assistant")), "Invalid value: 'image_url'."),
    (
        said(QUESTION, called("a", name="f g"), result("a")),
        "function.name': string does not match pattern.",
    ),
    (
        said(QUESTION, called("a", arguments="[]"), result("a")),
        "Invalid 'messages[1].tool_calls[0].function.arguments'",
    ),
    (
        said(QUESTION, called("a" * 41), result("a" * 41)),
        "Expected a string with maximum length 40, but got one",
    ),
    (said(QUESTION, called("a"), QUESTION), "did not have response messages: a"),
    (said(QUESTION, called("a", "b"), result("b")), "did not have response messages: a"),
    (said(QUESTION, called("a", "a"), result("a"), result("a")), "Duplicate tool call id."),
    (
        said(QUESTION, SAID, result("a")),
        "messages with role 'tool' must be a response to a preceeding message",
    ),
    (
        said(QUESTION, called("a"), result("a"), result("a")),
        "messages with role 'tool' must be a response",
    ),
    (
        said(QUESTION, tool_choice="auto"),
        "'tool_choice' is only allowed when 'tools' are specified.",
    ),
    (said(QUESTION, tools=[TOOL], tool_choice="any"), "Invalid value: 'any'."),
    (
        said(QUESTION, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "g"}}),
        "not found in 'tools'",
    ),
    (
        said(QUESTION, tools=[{"type": "function", "function": {"name": "f g"}}]),
        "string does not match pattern",
    ),
    (
        said(QUESTION, tools=[{"type": "custom", "function": {"name": "f"}}]),
        "Invalid 'tools[0].function.name'",
    ),
    (said(QUESTION, tools=[declared(type="string")]), "schema must have type 'object'"),
    (
        said(QUESTION, tools=[declared(type="object", anyOf=[])]),
        "schema must have type 'object' and not have 'oneOf'",
    ),
    (
        said(QUESTION, tools=[declared(True, type="object")]),
        "'additionalProperties' is required to be supplied",
    ),
    (
        said(QUESTION, tools=[declared(True, **{**SHUT, "properties": {"a": {"type": "string"}}})]),
        "'required' is required to be supplied and to include every key in properties",
    ),
    (
        said(QUESTION, tools=[declared(True, **{**SHUT, "minProperties": 1})]),
        "'minProperties' is not permitted",
    ),
    (
        said(QUESTION, tools=[declared(properties={"a": {"type": "array"}}, type="object")]),
        "array schema missing items",
    ),
    (
        said(QUESTION, response_format={"type": "json_schema"}),
        "Missing required parameter: 'response_format",
    ),
    (
        said(QUESTION, response_format=formed(True, type="object")),
        "Invalid schema for response_format",
    ),
    (said(QUESTION, response_format={"type": "json_object"}), "must contain the word 'json'"),
    (
        said(QUESTION, max_tokens=5),
        "'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
    ),
    (
        said(QUESTION, max_tokens=5, max_completion_tokens=5, model="gpt-4o-mini"),
        "at the same time",
    ),
    (
        said(QUESTION, model="gpt-4o-mini", reasoning_effort="low"),
        "Unrecognized request argument supplied: reasoning",
    ),
]
TAKEN: list[JSON] = [
    said(QUESTION),
    said({"role": "system", "content": "Be kind."}, QUESTION, QUESTION, SAID, QUESTION),
    said(QUESTION, called("a", "b"), result("b"), result("a"), QUESTION),
    said(image("data:image/png;base64,eA==")),
    said(file(filename="a.pdf", file_data="data:application/pdf;base64,JVBERi0x")),
    said(QUESTION, tools=[TOOL], tool_choice="required"),
    said(
        QUESTION,
        tools=[declared(True, **SHUT)],
        tool_choice={"type": "function", "function": {"name": "f"}},
    ),
    said(
        QUESTION, tools=[declared(properties={"a": {"type": "array", "items": {}}}, type="object")]
    ),
    said(QUESTION, response_format=formed(False, type="object")),
    said({"role": "user", "content": "Write JSON."}, response_format={"type": "json_object"}),
    said(QUESTION, max_completion_tokens=5, reasoning_effort="low"),
    said(QUESTION, max_tokens=5, model="gpt-4o-mini"),
]


@pytest.fixture
def fake() -> Iterator[OpenAIFake]:
    """The service."""
    with openai_fake() as fake:
        fake.is_openai = True
        yield fake


def post(
    fake: OpenAIFake, body: Any, key: str = KEY, path: str = "/v1/chat/completions"
) -> httpx.Response:
    """One request, by hand."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return httpx.post(
        fake.base_url + path, content=content, headers={"authorization": f"Bearer {key}"}
    )


def error(response: httpx.Response) -> tuple[int, str | None]:
    """Status and code of an error."""
    return response.status_code, response.json()["error"]["code"]


def test_bad_requests_are_refused_in_the_services_words(fake: OpenAIFake) -> None:
    """400 invalid_request_error; and the answer that was planned is kept for the next one."""
    fake.say("ok")
    for body, words in REFUSED:
        response = post(fake, body)
        assert (response.status_code, response.json()["error"]["type"]) == (
            400,
            "invalid_request_error",
        ), body
        assert words in response.json()["error"]["message"], body
    assert post(fake, said(QUESTION)).status_code == 200


def test_good_requests_are_taken(fake: OpenAIFake) -> None:
    """In every form that is allowed."""
    for body in TAKEN:
        fake.say("ok")
        response = post(fake, body)
        assert response.status_code == 200, response.text


def test_a_key_is_wanted(fake: OpenAIFake) -> None:
    """Unless the server is one of those that want none."""
    fake.say("ok")
    assert error(post(fake, said(QUESTION), key="wrong")) == (401, "invalid_api_key")
    fake.wants_key = False
    assert post(fake, said(QUESTION), key="wrong").status_code == 200


def test_an_unknown_model_an_unknown_path_and_broken_json(fake: OpenAIFake) -> None:
    """404, 404 and 400; nothing planned is a 500."""
    assert error(post(fake, said(QUESTION, model="gpt-9"))) == (404, "model_not_found")
    assert error(post(fake, said(QUESTION), path="/chat/completions")) == (404, None)
    assert error(post(fake, b"{")) == (400, None)
    assert error(post(fake, said(QUESTION))) == (500, None)


def test_usage_is_told_where_it_is_asked_for(fake: OpenAIFake) -> None:
    """In an event of its own, without choices, before the end."""
    for wanted in (True, False):
        fake.say("ok")
        body = said(QUESTION, stream_options={"include_usage": wanted})
        events = post(fake, body).text.removesuffix("\n\n").split("\n\n")
        told = [msgspec.json.decode(event[6:]).get("usage") for event in events[:-1]]
        assert events[-1] == "data: [DONE]"
        assert [one for one in told if one] == ([USAGE] if wanted else [])


def test_a_server_of_another_vendor_has_its_own_habits(fake: OpenAIFake) -> None:
    """Fields of its own in messages, fields it does not know, and a list of models in the place of
    each."""
    fake.extras = True
    fake.unknown = {"strict": "strict is not supported"}
    fake.lists_only = True
    fake.say("ok")
    assert post(fake, said({**SAID, "reasoning_content": "Hm."}, QUESTION)).status_code == 200
    assert error(post(fake, said(QUESTION, tools=[declared(True, **SHUT)]))) == (
        400,
        "unsupported_parameter",
    )
    headers = {"authorization": f"Bearer {KEY}"}
    assert httpx.get(f"{fake.base_url}/v1/models/gpt-5-mini", headers=headers).status_code == 404
    listed = httpx.get(f"{fake.base_url}/v1/models", headers=headers).json()["data"]
    assert [card["id"] for card in listed] == ["gpt-4o-mini", "gpt-5-mini", "small-local-model"]
