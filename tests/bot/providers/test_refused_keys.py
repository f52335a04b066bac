"""A refused key is one from every vendor, and behind every proxy, whatever the refusal says."""

from __future__ import annotations

import json

import pytest
from aiohttp import web

from bot.errors import ModelError
from bot.providers.registry import open_model
from bot.settings import load
from tests.bot.providers.asking import ask, declared, user
from tests.fakes.serving import serving

ADDRESSES = {
    "gemini:gemini-3.5-flash": "GOOGLE_GEMINI_BASE_URL",
    "openai:gpt-5": "OPENAI_BASE_URL",
    "json:gpt-5": "OPENAI_BASE_URL",
    "anthropic:claude": "ANTHROPIC_BASE_URL",
    "ollama:qwen3": "OLLAMA_HOST",
}
KEYS = ("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY")
GOOGLE = {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
}
REASON = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
BODIES: dict[str, object] = {
    "nothing": b"",
    "a page": b"<html>Access denied</html>",
    "a list": [{"error": "no"}],
    "another code": {
        "error": {"code": "model_not_found", "message": "no", "type": "invalid_request_error"}
    },
}
OF_A_400: dict[str, object] = {
    "Google": {"error": {**GOOGLE, "details": [REASON]}},
    "Google's, in a list": [{"error": {**GOOGLE, "details": [REASON]}}],
    "Google's, without its reason": {"error": GOOGLE},
    "Google's, expired": {
        "error": {**GOOGLE, "message": "API key expired. Please renew the API key."}
    },
    "OpenAI's words": {
        "error": {"message": "Incorrect API key provided: sk-…", "type": "invalid_request_error"}
    },
}


@pytest.mark.parametrize("model", ADDRESSES)
@pytest.mark.parametrize(
    ("status", "body"),
    [(status, body) for status in (401, 403) for body in BODIES.values()]
    + [(400, body) for body in OF_A_400.values()],
    ids=[f"{status} {name}" for status in (401, 403) for name in BODIES]
    + [f"400 {name}" for name in OF_A_400],
)
async def test_a_refused_key_is_one(
    monkeypatch: pytest.MonkeyPatch, model: str, status: int, body: object
) -> None:
    """The operator gets the alert for it, and the variable."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "text/html" if isinstance(body, bytes) else "application/json"

    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(status=status, body=text, content_type=kind)

    for name in KEYS:
        monkeypatch.setenv(name, "key-of-somebody")
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", refuse)
    with serving(application) as url:
        monkeypatch.setenv("MODEL", model)
        monkeypatch.setenv(ADDRESSES[model], url)
        async with open_model(load(), model) as provider:
            with pytest.raises(ModelError) as refused:
                await ask(provider, [user("Hello")], declared())
    assert refused.value.apology == "key_refused"
    assert any(name in refused.value.cause for name in KEYS)


async def test_a_schema_with_a_key_among_its_properties_is_no_refused_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tools of APIs may have such an argument, and a vendor may dislike its schema."""

    async def refuse(_request: web.Request) -> web.Response:
        return web.json_response(
            {"error": {"message": "properties.api_key: invalid type", "type": "x"}}, status=400
        )

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", refuse)
    monkeypatch.setenv("MODEL", "openai:gpt-5")
    with serving(application) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        async with open_model(load(), "openai:gpt-5") as provider:
            with pytest.raises(ModelError) as refused:
                await ask(provider, [user("Hello")], declared())
    assert refused.value.apology == "request_refused"
