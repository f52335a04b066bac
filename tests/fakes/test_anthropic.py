"""The stand-in for Anthropic refuses what the real service refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.fakes import anthropic_rules as rules
from tests.fakes.anthropic import KEY, AnthropicFake, anthropic_fake, searched, text

JSON = dict[str, Any]

MODEL = "claude-sonnet-5"
QUESTION: JSON = {"role": "user", "content": "?"}
SAID: JSON = {"role": "assistant", "content": [text("!")]}
TOOL: JSON = {"name": "f", "input_schema": {"type": "object"}}
SEARCH: JSON = {"type": "web_search_20250305", "name": "web_search"}
BUDGET: JSON = {"type": "enabled", "budget_tokens": 1024}
THOUGHT: JSON = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def used(*ids: str, **fields: Any) -> JSON:
    """A message of the model's that calls."""
    blocks = [{"type": "tool_use", "id": one, "name": "f", "input": {}, **fields} for one in ids]
    return {"role": "assistant", "content": blocks}


def answered(*ids: str, before: tuple[JSON, ...] = (), after: tuple[JSON, ...] = ()) -> JSON:
    """The message that answers."""
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "ok"} for one in ids]
    return {"role": "user", "content": [*before, *blocks, *after]}


def said(*messages: JSON, **fields: Any) -> JSON:
    """A request with these messages."""
    return {"model": MODEL, "max_tokens": 2048, "messages": list(messages), **fields}


def document(media_type: str = "application/pdf", data: str = "JVBERi0x", **fields: str) -> JSON:
    """A user's PDF."""
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"role": "user", "content": [{"type": "document", "source": source, **fields}]}


def image(media_type: str, data: str) -> JSON:
    """A question with a picture."""
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"role": "user", "content": [{"type": "image", "source": source}]}


def strict(**schema: Any) -> JSON:
    """A strict tool."""
    return {"name": "f", "strict": True, "input_schema": {"type": "object", **schema}}


REFUSED: list[tuple[JSON, str]] = [
    (
        said(QUESTION, {"role": "assistant", "content": searched("q")[:1]}, QUESTION),
        "without its `web_search_tool_res",
    ),
    (
        said(QUESTION, {"role": "assistant", "content": searched("q")[1:]}, QUESTION),
        "without its `server_tool_use`",
    ),
    (said(QUESTION, tools=[{**SEARCH, "input_schema": {}}]), "Extra inputs"),
    (
        said(QUESTION, tools=[SEARCH], model="claude-3-haiku-20240307"),
        "does not support tool types",
    ),
    ({"model": MODEL, "messages": [QUESTION]}, "max_tokens: Field required"),
    ({"model": MODEL, "max_tokens": 5}, "messages: Field required"),
    (said(QUESTION, temperature=1), "temperature: Extra inputs are not permitted"),
    (said(), "at least one message is required"),
    (said(SAID, QUESTION), 'first message must use the "user" role'),
    (said(QUESTION, SAID), "assistant message prefill"),
    (
        said(QUESTION, {"role": "tool", "content": "x"}, QUESTION),
        "messages.1.role: Input should be",
    ),
    (said({"role": "user", "content": []}), "all messages must have non-empty content"),
    (said({"role": "user", "content": [text("")]}), "text content blocks must be non-empty"),
    (said({"role": "user", "content": [text(" \n")]}), "must contain non-whitespace text"),
    (
        said({"role": "user", "content": [{**text("?"), "id": 1}]}),
        "messages.0.content.0.text.id: Extra inputs",
    ),
    (
        said({"role": "user", "content": used("a")["content"]}),
        "`tool_use` blocks are not permitted in `user` messages",
    ),
    (said(image("image/heic", "eA==")), "media_type: Input should be"),
    (said(document(media_type="text/plain")), "media_type: Input should be 'application/pdf'"),
    (said(document(data="?")), "Invalid base64 data"),
    (said(document(data="eA==")), "The PDF specified was not valid."),
    (said(document(name="a")), "Extra inputs are not permitted"),
    (said(image("image/png", "?")), "The image data is not valid base64"),
    (said(QUESTION, used("a b"), answered("a b")), "tool_use.id: String should match pattern"),
    (
        said(QUESTION, used("a", name="f g"), answered("a")),
        "tool_use.name: String should match pattern",
    ),
    (said(QUESTION, used("a", input="{}"), answered("a")), "Input should be a valid dictionary"),
    (said(QUESTION, used("a", "a"), answered("a", "a")), "`tool_use` ids must be unique"),
    (
        said(QUESTION, used("a"), answered("a"), used("a"), answered("a")),
        "`tool_use` ids must be unique",
    ),
    (said(QUESTION, used("a"), QUESTION), rules.UNANSWERED.format(1, "a")),
    (said(QUESTION, used("a", "b"), answered("a")), rules.UNANSWERED.format(1, "b")),
    (
        said(QUESTION, used("a"), answered("a", before=(text("!"),))),
        rules.UNANSWERED.format(1, "a"),
    ),
    (said(QUESTION, SAID, answered("a")), rules.UNASKED.format(2, 0, "a")),
    (said(QUESTION, used("a"), answered("a", "b")), rules.UNASKED.format(2, 1, "b")),
    (
        said(QUESTION, {"role": "assistant", "content": [THOUGHT, text("!")]}, QUESTION),
        "Invalid `signature`",
    ),
    (
        said(QUESTION, tools=[{**TOOL, "name": "f g"}]),
        "tools.0.custom.name: String should match pattern",
    ),
    (said(QUESTION, tools=[TOOL, TOOL]), "Tool names must be unique"),
    (said(QUESTION, tools=[{"name": "f"}]), "input_schema: Field required"),
    (
        said(QUESTION, tools=[{"name": "f", "input_schema": {}}]),
        "input_schema.type: Input should be 'object'",
    ),
    (
        said(QUESTION, tools=[{"name": "f", "input_schema": {"type": "object", "oneOf": []}}]),
        "does not support oneOf, allOf, or anyOf at the top level",
    ),
    (
        said(QUESTION, tools=[{"name": "f", "input_schema": {"type": "object", "required": 1}}]),
        "JSON schema is invalid",
    ),
    (said(QUESTION, tools=[strict()]), "'additionalProperties' must be explicitly set to false"),
    (
        said(
            QUESTION,
            tools=[
                strict(
                    additionalProperties=False, properties={"a": {"type": "string", "pattern": "x"}}
                )
            ],
        ),
        "For 'string' type, property 'pattern' is not supported",
    ),
    (said(QUESTION, tool_choice={"type": "auto"}), "may only be specified while providing tools"),
    (
        said(QUESTION, tools=[TOOL], tool_choice={"type": "required"}),
        "Input tag found using 'type'",
    ),
    (said(QUESTION, tools=[TOOL], tool_choice={"type": "tool", "name": "g"}), "Tool 'g' not found"),
    (said(QUESTION, thinking=BUDGET), rules.NO_BUDGET),
    (
        said(QUESTION, model="claude-haiku-4-5", thinking={"type": "adaptive"}),
        '"thinking.type.adaptive" is not',
    ),
    (said(QUESTION, model="claude-haiku-4-5", output_config={"effort": "low"}), "effort parameter"),
    (
        said(QUESTION, model="claude-opus-5-5", thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not',
    ),
    (
        said(QUESTION, model="claude-haiku-4-5", thinking={**BUDGET, "budget_tokens": 5}),
        "greater than or equal to 1024",
    ),
    (
        said(QUESTION, model="claude-haiku-4-5", thinking=BUDGET, max_tokens=1024),
        "`max_tokens` must be greater",
    ),
    (
        said(QUESTION, tools=[TOOL], tool_choice={"type": "any"}, thinking={"type": "adaptive"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        said(QUESTION, model="claude-opus-5-5", tools=[TOOL], tool_choice={"type": "any"}),
        "forced tool use is not",
    ),
    (
        said(QUESTION, used("a"), answered("a"), model="claude-haiku-4-5", thinking=BUDGET),
        rules.NO_THOUGHT.format(1, "tool_use"),
    ),
    (
        said(
            QUESTION,
            tools=[
                {**TOOL, "name": name, "cache_control": {"type": "ephemeral"}} for name in "abcde"
            ],
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
]
TAKEN: list[JSON] = [
    said(QUESTION, {"role": "assistant", "content": searched("q")}, QUESTION, tools=[SEARCH]),
    said(
        QUESTION,
        {"role": "assistant", "content": [searched("q")[0], *used("a")["content"]]},
        answered("a"),
        tools=[SEARCH],
    ),
    said(QUESTION),
    said(QUESTION, QUESTION),
    said(QUESTION, used("a", "b"), answered("b", "a", after=(text("!"),))),
    said(
        QUESTION,
        used("a"),
        answered("a"),
        SAID,
        QUESTION,
        model="claude-haiku-4-5",
        thinking=BUDGET,
    ),
    said(image("image/png", "eA==")),
    said(document(title="report.pdf")),
    said(
        QUESTION,
        tools=[strict(additionalProperties=False)],
        tool_choice={"type": "tool", "name": "f"},
    ),
    said(
        QUESTION,
        tools=[TOOL],
        tool_choice={"type": "any"},
        thinking={"type": "adaptive"},
        model="claude-fable-5",
    ),
]


@pytest.fixture
def fake() -> Iterator[AnthropicFake]:
    """The service."""
    with anthropic_fake() as fake:
        yield fake


def post(fake: AnthropicFake, body: Any, **headers: str) -> httpx.Response:
    """One request, by hand."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    named = {"x-api-key": KEY, "anthropic-version": "2026-10-21", **headers}
    sent = {name.replace("_", "-"): value for name, value in named.items() if value}
    return httpx.post(f"{fake.base_url}/v1/messages", content=content, headers=sent)


def message(response: httpx.Response) -> str:
    """The text of an error."""
    words: str = response.json()["error"]["message"]
    return words


def test_bad_requests_are_refused_in_the_services_words(fake: AnthropicFake) -> None:
    """400 invalid_request_error; and the answer that was planned is kept for the next one."""
    fake.say("ok")
    for body, words in REFUSED:
        response = post(fake, body)
        assert (response.status_code, response.json()["error"]["type"]) == (
            400,
            "invalid_request_error",
        ), body
        assert words in message(response), body
    assert post(fake, said(QUESTION)).status_code == 200


def test_good_requests_are_taken(fake: AnthropicFake) -> None:
    """In every form that is allowed."""
    for body in TAKEN:
        fake.say("ok")
        response = post(fake, body)
        assert response.status_code == 200, response.text


def test_a_key_and_a_version_are_wanted(fake: AnthropicFake) -> None:
    """The key in either of the headers it may stand in."""
    fake.say("ok")
    assert message(post(fake, said(QUESTION), **{"x-api-key": "wrong"})) == "invalid x-api-key"
    assert post(fake, said(QUESTION), **{"anthropic-version": ""}).status_code == 400
    assert (
        post(
            fake, said(QUESTION), **{"x-api-key": "", "authorization": f"Bearer {KEY}"}
        ).status_code
        == 200
    )


def test_an_unknown_model_and_broken_json(fake: AnthropicFake) -> None:
    """404 and 400; nothing planned is a 500."""
    response = post(fake, said(QUESTION, model="claude-9"))
    assert (response.status_code, message(response)) == (404, "model: claude-9")
    assert post(fake, b"{").status_code == 400
    assert post(fake, said(QUESTION)).status_code == 500
