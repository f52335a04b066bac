"""The stand-in for Gemini refuses what the real service refuses, and fails the ways it fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from tests.fakes import gemini_rules as rules
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake, gemini_fake_in_thread
from tests.fakes.gemini_answers import Answer, event

JSON = dict[str, Any]

QUESTION = {"role": "user", "parts": [{"text": "?"}]}
SAID = {"role": "model", "parts": [{"text": "!"}]}
STREAM = "v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse"


def calls(*calls: JSON, signature: str = "c2ln") -> JSON:
    """A model content with these calls, the first one signed."""
    parts: list[JSON] = [{"functionCall": call} for call in calls]
    if signature:
        parts[0]["thoughtSignature"] = signature
    return {"role": "model", "parts": parts}


def responses(*called: JSON) -> JSON:
    """The content that answers them."""
    return {
        "role": "user",
        "parts": [{"functionResponse": {**one, "response": {}}} for one in called],
    }


def declared(**function: Any) -> JSON:
    """A Tool with one function."""
    return {"functionDeclarations": [{"name": "f", **function}]}


COMBINED = declared() | {"googleSearch": {}}
ENABLED = {"includeServerSideToolInvocations": True}
SEARCHED = {
    "role": "model",
    "parts": [{"toolCall": {"id": "1"}}, {"toolResponse": {"id": "1"}}, {"text": "!"}],
}
A, B = {"name": "a", "id": "1"}, {"name": "b", "id": "2"}

REFUSED: list[tuple[JSON, str]] = [
    ({"contents": [QUESTION], "temperature": 1}, 'Unknown name "temperature": Cannot find field.'),
    ({}, "contents is not specified"),
    (
        {"contents": [{"role": "assistant", "parts": [{"text": "?"}]}]},
        "Please use a valid role: user, model.",
    ),
    ({"contents": [{"role": "user", "parts": []}]}, "contents.parts must not be empty."),
    (
        {"contents": [{"role": "user", "parts": [{"thought": True}]}]},
        "oneof field 'data' must have one initialized",
    ),
    ({"contents": [{"role": "user", "parts": [{"text": ""}]}]}, "empty text parameter"),
    ({"contents": [QUESTION, calls(A, signature="?")]}, "Base64 decoding failed"),
    ({"contents": [QUESTION, SAID]}, "multiturn requests end with a user turn"),
    ({"contents": [calls(A), responses(A)]}, rules.CALL_ORDER),
    ({"contents": [QUESTION, SAID, calls(A), responses(A)]}, rules.CALL_ORDER),
    ({"contents": [QUESTION, responses(A)]}, rules.RESPONSE_ORDER),
    ({"contents": [QUESTION, calls(A, B), responses(A)]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A), responses(A, B)]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A, B), responses(A), responses(B)]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A, B), responses(B, A)]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A), responses({"name": "a"})]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A), QUESTION]}, rules.RESPONSE_COUNT),
    ({"contents": [QUESTION, calls(A)]}, rules.RESPONSE_COUNT),
    (
        {"contents": [QUESTION, calls(A, signature=""), responses(A)]},
        rules.MISSING_SIGNATURE.format(name="a", position=2),
    ),
    (
        {"contents": [QUESTION], "tools": [declared(), declared(name="g")]},
        "Multiple tools are supported only when",
    ),
    ({"contents": [QUESTION], "tools": [declared(name="1f")]}, "Invalid function name."),
    (
        {
            "contents": [QUESTION],
            "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}],
        },
        "Duplicate function declaration found: f",
    ),
    (
        {"contents": [QUESTION], "tools": [declared(parameters={}, parametersJsonSchema={})]},
        "only one of parameters and parameters_json_schema",
    ),
    (
        {"contents": [QUESTION], "tools": [declared(parameters={"additionalProperties": False})]},
        "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'",
    ),
    (
        {
            "contents": [QUESTION],
            "tools": [declared(parameters={"properties": {"x": {"$ref": "#"}}})],
        },
        (
            'Unknown name "$ref" at '
            "'tools[0].function_declarations[0].parameters.properties[x].value'"
        ),
    ),
    (
        {"contents": [QUESTION], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
        "set without function_declarations",
    ),
    (
        {
            "contents": [QUESTION],
            "tools": [declared()],
            "toolConfig": {
                "functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}
            },
        },
        "Allowed function names should be set only when",
    ),
    (
        {
            "contents": [QUESTION],
            "tools": [declared()],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}},
        },
        "must be a subset of the declared functions",
    ),
    ({"contents": [QUESTION], "tools": [COMBINED]}, rules.NOT_ENABLED),
    (
        {
            "contents": [QUESTION],
            "tools": [COMBINED],
            "toolConfig": ENABLED | {"functionCallingConfig": {"mode": "AUTO"}},
        },
        rules.NO_AUTO,
    ),
    ({"contents": [QUESTION, SEARCHED, QUESTION]}, rules.NOT_CIRCULATED),
    (
        {"contents": [QUESTION, SEARCHED, QUESTION], "tools": [COMBINED], "toolConfig": ENABLED},
        rules.CHANGED,
    ),
    (
        {"contents": [QUESTION], "cachedContent": "c", "systemInstruction": QUESTION},
        "CachedContent can not be used with GenerateContent request setting",
    ),
    (
        {
            "contents": [QUESTION],
            "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}},
        },
        "only set only one of thinking budget and thinking level",
    ),
    (
        {
            "contents": [QUESTION],
            "generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}},
        },
        "Thinking level MINIMAL is not supported",
    ),
    (
        {"contents": [QUESTION], "generationConfig": {"responseModalities": ["IMAGE"]}},
        "The requested combination of response modalities is not supported by the model.",
    ),
    (
        {"contents": [QUESTION], "generationConfig": {"imageConfig": {"aspectRatio": "1:1"}}},
        "Image config is not",
    ),
]
TAKEN: list[JSON] = [
    {"contents": [QUESTION]},
    {"contents": [{"parts": [{"text": "?"}]}]},
    {"contents": [QUESTION, QUESTION, SAID, QUESTION]},
    {"contents": [QUESTION, calls(A, B), responses(A, B)]},
    {"contents": [QUESTION, calls(A), responses(A), QUESTION]},
    {"contents": [QUESTION, calls(A), responses(A), calls(B), responses(B)]},
    {"contents": [QUESTION, calls(A, signature=""), responses(A), SAID, QUESTION]},
    {"contents": [QUESTION, calls(A, signature="skip_thought_signature_validator"), responses(A)]},
    {
        "contents": [QUESTION],
        "system_instruction": QUESTION,
        "generation_config": {"max_output_tokens": 5},
    },
    {
        "contents": [QUESTION],
        "tools": [declared(parameters_json_schema={"$ref": "#", "additionalProperties": False})],
    },
    {
        "contents": [QUESTION],
        "tools": [declared(parameters={"type": "OBJECT", "properties": {"x": {}}})],
    },
    {"contents": [QUESTION], "tools": [{"googleSearch": {}}]},
    {"contents": [QUESTION], "tools": [COMBINED], "toolConfig": ENABLED},
]


@pytest.fixture
def fake() -> Iterator[GeminiFake]:
    """The service."""
    with gemini_fake_in_thread() as fake:
        yield fake


def post(fake: GeminiFake, body: Any, path: str = STREAM, key: str = KEY) -> httpx.Response:
    """One request, by hand."""
    headers = {"x-goog-api-key": key} if key else {}
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return httpx.post(f"{fake.base_url}/{path}", content=content, headers=headers)


def message(response: httpx.Response) -> str:
    """The text of an error."""
    text: str = response.json()["error"]["message"]
    return text


@pytest.mark.parametrize(("body", "text"), REFUSED)
def test_a_bad_request_is_refused_with_the_services_text(
    fake: GeminiFake, body: JSON, text: str
) -> None:
    """400 INVALID_ARGUMENT, and the answer that was planned is kept for the next one."""
    fake.say("ok")
    response = post(fake, body)
    assert (response.status_code, response.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert text in message(response)
    assert fake.unused == 1


@pytest.mark.parametrize("body", TAKEN)
def test_a_good_request_is_taken(fake: GeminiFake, body: JSON) -> None:
    """Camel or snake case, with signatures where they are wanted."""
    fake.say("ok")
    assert post(fake, body).status_code == 200


def test_older_models_want_no_signature(fake: GeminiFake) -> None:
    """Gemini 2.5 lets unsigned calls pass, but knows no thinking level."""
    path = STREAM.replace("3.5", "2.5")
    fake.say("ok")
    assert (
        post(fake, {"contents": [QUESTION, calls(A, signature=""), responses(A)]}, path).status_code
        == 200
    )
    level = {
        "contents": [QUESTION],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
    }
    assert message(post(fake, level, path)) == "Thinking level is not supported for this model."


def test_older_models_do_not_combine_tools(fake: GeminiFake) -> None:
    """Neither with the switch nor without."""
    body = {"contents": [QUESTION], "tools": [COMBINED], "toolConfig": ENABLED}
    assert message(post(fake, body, STREAM.replace("3.5", "2.5"))) == rules.NOT_COMBINED


def test_image_models_paint_and_call_nothing(fake: GeminiFake) -> None:
    """Shapes are those of the documentation."""
    path = "v1beta/models/gemini-3.1-flash-image:generateContent"
    fake.paint(b"a picture")
    painted = {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "16:9"}}
    draft, made = post(fake, {"contents": [QUESTION], "generationConfig": painted}, path).json()[
        "candidates"
    ][0]["content"]["parts"]
    assert (draft["thought"], "thought" in made) == (True, False)
    wide = {"imageConfig": {"aspectRatio": "32:9"}}
    assert (
        message(post(fake, {"contents": [QUESTION], "generationConfig": wide}, path))
        == "Invalid aspect ratio."
    )
    assert "not enabled" in message(
        post(fake, {"contents": [QUESTION], "tools": [declared()]}, path)
    )


def test_the_oldest_models_do_not_think(fake: GeminiFake) -> None:
    """Gemini 2.0 refuses a budget; 2.5 Pro refuses one that is too small."""
    budget = {"contents": [QUESTION], "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
    assert "thinking is not supported" in message(post(fake, budget, STREAM.replace("3.5", "2.0")))
    pro = STREAM.replace("3.5-flash", "2.5-pro")
    assert "The thinking budget is invalid." in message(post(fake, budget, pro))


@pytest.mark.parametrize(
    ("key", "status", "text"),
    [
        ("", 403, "unregistered callers"),
        ("wrong", 400, "API key not valid. Please pass a valid API key."),
    ],
)
def test_a_bad_key_is_refused(fake: GeminiFake, key: str, status: int, text: str) -> None:
    """A wrong key is a 400 with a reason, a missing one a 403."""
    response = post(fake, {"contents": [QUESTION]}, key=key)
    assert response.status_code == status
    assert text in message(response)
    reasons = [detail["reason"] for detail in response.json()["error"].get("details", ())]
    assert reasons == (["API_KEY_INVALID"] if key else [])


def test_an_unknown_model_is_not_found(fake: GeminiFake) -> None:
    """404, in any version of the API."""
    response = post(fake, {"contents": [QUESTION]}, "v1/models/gemini-9:generateContent")
    assert (response.status_code, message(response)) == (
        404,
        "models/gemini-9 is not found for API version v1.",
    )


def test_what_is_not_json_is_refused(fake: GeminiFake) -> None:
    """So is a second answer nobody has planned."""
    assert message(post(fake, b"{")) == "Invalid JSON payload received."
    assert post(fake, {"contents": [QUESTION]}).status_code == 500


def test_an_answer_takes_the_form_that_was_asked_for(fake: GeminiFake) -> None:
    """Events, one array of them, or one object."""
    for _ in range(3):
        fake.say("a", "b")
    body = {"contents": [QUESTION]}
    array = post(fake, body, STREAM.removesuffix("?alt=sse")).json()
    whole = post(fake, body, STREAM.replace("streamG", "g").removesuffix("?alt=sse")).json()
    last = {**event([{"text": "b"}])["candidates"][0], "finishReason": "STOP"}
    assert array == [event([{"text": "a"}]), {**event([]), "candidates": [last]}]
    assert whole["candidates"][0]["content"]["parts"] == [{"text": "a"}, {"text": "b"}]
    stream = post(fake, body)
    assert stream.headers["content-type"] == "text/event-stream"
    assert [
        msgspec.json.decode(line[6:]) for line in stream.text.split("\r\n\r\n") if line
    ] == array


async def test_an_answer_can_be_made_from_the_request() -> None:
    """For a test of many conversations at once."""
    async with gemini_fake() as fake:
        fake.answer(lambda body: Answer((event([{"text": f"{len(body['contents'])} contents"}]),)))
        assert "3 contents" in post(fake, {"contents": [QUESTION, SAID, QUESTION]}).text
        assert fake.requests[0].body == {"contents": [QUESTION, SAID, QUESTION]}
