"""Requests go to the service that is set, and nowhere else; nobody there is an outage."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import RequestRefused, TryAgain
from bot.providers import Provider
from bot.providers.anthropic.client import Anthropic
from bot.providers.gemini.client import Gemini
from bot.providers.ollama.client import Ollama
from bot.providers.openai.client import OpenAI
from tests.bot.providers.asking import ask, user
from tests.bot.providers.subjects.all import SUBJECTS
from tests.certificates import write_certificate
from tests.fakes.streams import Outgoing

NOBODY = "http://127.0.0.1:9"
ENVIRONMENT = {
    "GOOGLE_API_KEY": "another-key",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "OPENAI_API_KEY": "another-key",
    "OPENAI_ADMIN_KEY": "another-key",
    "OPENAI_BASE_URL": NOBODY,
    "ANTHROPIC_API_KEY": "another",
    "ANTHROPIC_AUTH_TOKEN": "another",
    "ANTHROPIC_PROFILE": "another",
    "ANTHROPIC_BASE_URL": NOBODY,
}


@pytest.mark.parametrize(
    ("provider", "cause"),
    [
        (lambda: Gemini("k", "m", NOBODY), "m cannot be reached: ClientConnectorError"),
        (lambda: OpenAI("k", "m", NOBODY), "m cannot be reached: ConnectionRefusedError"),
        (lambda: Anthropic("k", "m", NOBODY), "m cannot be reached: ConnectionRefusedError"),
        (
            lambda: Ollama("m", NOBODY),
            f"no Ollama answers at {NOBODY}: start it, or set OLLAMA_HOST",
        ),
    ],
    ids=["gemini", "openai", "anthropic", "ollama"],
)
async def test_nobody_there_is_an_outage(provider: Callable[[], Provider], cause: str) -> None:
    """Named by the class of the error; a transport may call it a time-out."""
    opened = provider()
    with pytest.raises(TryAgain) as raised:
        await ask(opened, [user("?")])
    await opened.aclose()
    assert (raised.value.apology, raised.value.cause) == ("model_down", cause)


@pytest.mark.parametrize(
    ("vendor", "error"),
    [
        (Gemini, "ClientConnectorCertificateError"),
        (OpenAI, "SSLCertVerificationError"),
        (Anthropic, "SSLCertVerificationError"),
    ],
)
async def test_a_certificate_that_is_refused_is_an_outage(
    vendor: type[Gemini | OpenAI | Anthropic], error: str, tmp_path: Path
) -> None:
    """It is a ValueError too, but nothing has been read."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(write_certificate(tmp_path / "vendor.pem", "localhost"))
    server = await asyncio.start_server(lambda _, writer: writer.close(), "localhost", 0, ssl=tls)
    async with server:
        provider = vendor("k", "m", f"https://localhost:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(TryAgain) as raised:
            await ask(provider, [user("?")])
        await provider.aclose()
    assert (raised.value.apology, raised.value.cause) == (
        "model_down",
        f"m cannot be reached: {error}",
    )


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_a_redirect_is_not_followed(vendor: str) -> None:
    """The key goes to one host."""
    async with SUBJECTS[vendor]() as subject:
        elsewhere = {"Location": f"{subject.fake.base_url}/elsewhere"}
        subject.fake.answer(Outgoing(status=307, headers=elsewhere))
        with pytest.raises((TryAgain, RequestRefused)):
            await ask(subject.provider, [user("?")])
        assert len(subject.fake.requests) == 1


@pytest.mark.parametrize("vendor", ["gemini", "openai", "anthropic"])
async def test_the_environment_does_not_change_who_is_asked(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An SDK would take keys and addresses from there; the stand-in knows one key."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    async with SUBJECTS[vendor]() as subject:
        subject.say("ok")
        assert (await ask(subject.provider, [user("?")])).text == "ok"
        if vendor == "gemini":
            assert [request.version for request in subject.fake.requests] == ["v1beta"]
