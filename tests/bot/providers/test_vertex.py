"""What is particular about Vertex AI: where its models are, and who is let in."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from google.auth import exceptions
from google.auth.credentials import Credentials
from google.oauth2.credentials import Credentials as Token

from bot.errors import ModelError, ModelUnusable, TryAgain
from bot.providers.gemini.client import Gemini
from bot.providers.gemini.vertex import Vertex
from tests.bot.providers.asking import ask, results, user
from tests.fakes.gemini import KEY, gemini_fake
from tests.fakes.vertex import LOCATION, PLACE, PROJECT, TOKEN, vertex_fake
from toolset.tool import ToolDefinition

MODEL = "gemini-3.5-flash"
TOOLS = (ToolDefinition("get_weather", "Tells the weather.", {"type": "object"}, {}),)
WEATHER = ("get_weather", {"location": "東京"})
FIX = "run gcloud auth application-default login, and let that account use Vertex AI there"


class Broken(Credentials):
    """Credentials that cannot be renewed."""

    def __init__(self, error: Exception) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._error = error

    def refresh(self, request: object) -> None:
        """Fail."""
        raise self._error


class Fresh(Credentials):
    """Credentials without a token yet."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.renewals = 0

    def refresh(self, request: object) -> None:
        """Get a token."""
        self.renewals += 1
        self.token = TOKEN


def signed_in(token: str = TOKEN) -> Credentials:
    """Credentials with a token that lasts."""
    return Token(token=token)  # type: ignore[no-untyped-call]


async def failure(provider: Vertex) -> ModelError:
    """How an answer fails."""
    try:
        await ask(provider, [user("?")])
    except ModelError as error:
        return error
    finally:
        await provider.aclose()
    raise AssertionError("the request did not fail")


async def test_a_request_goes_to_the_projects_model() -> None:
    """By project and location, with a token; the body is Gemini's."""
    with vertex_fake() as vertex, gemini_fake() as gemini:
        there = Vertex(PROJECT, MODEL, LOCATION, vertex.base_url, credentials=signed_in())
        here = Gemini(KEY, MODEL, gemini.base_url)
        for fake, provider in ((vertex, there), (gemini, here)):
            fake.say("ok")
            await ask(provider, [user("?")], TOOLS)
            await provider.aclose()
        [sent] = vertex.requests
        assert (sent.version, sent.model, sent.action) == (
            "v1beta1",
            MODEL,
            "streamGenerateContent",
        )
        assert sent.headers["Authorization"] == f"Bearer {TOKEN}"
        assert sent.body == gemini.requests[0].body


async def test_the_endpoint_of_a_tuned_model_has_a_whole_path() -> None:
    """It names its project and location itself."""
    with vertex_fake() as fake:
        fake.models.add("1234567890")
        fake.say("ok")
        model = f"{PLACE}/endpoints/1234567890"
        provider = Vertex(PROJECT, model, LOCATION, fake.base_url, credentials=signed_in())
        assert (await ask(provider, [user("?")])).text == "ok"
        await provider.aclose()


async def test_requests_at_once_share_a_renewed_token() -> None:
    """It is asked for once, and serves later requests too."""
    credentials = Fresh()
    with vertex_fake() as fake:
        provider = Vertex(PROJECT, MODEL, LOCATION, fake.base_url, credentials=credentials)
        for _ in range(3):
            fake.say("ok")
        both = await asyncio.gather(*(ask(provider, [user("?")]) for _ in range(2)))
        later = await ask(provider, [user("?")])
        await provider.aclose()
    assert [one.text for one in (*both, later)] == ["ok"] * 3
    assert credentials.renewals == 1


async def test_signatures_of_the_other_service_are_foreign() -> None:
    """Each gets its own back, word for word, and the sign for a foreign call in the place of the
    other's."""
    with vertex_fake() as vertex, gemini_fake() as gemini:
        there = Vertex(PROJECT, MODEL, LOCATION, vertex.base_url, credentials=signed_in())
        here = Gemini(KEY, MODEL, gemini.base_url)
        vertex.calls(WEATHER)
        asked = (await ask(there, [user("?")], TOOLS)).response.message
        reported = [user("?"), asked, results(asked, {})]
        signatures = []
        for fake, provider in ((vertex, there), (gemini, here)):
            fake.say("ok")
            await ask(provider, reported, TOOLS)
            await provider.aclose()
            signatures.append(fake.requests[-1].body["contents"][1]["parts"][0]["thoughtSignature"])
        assert asked.opaque is not None
        assert signatures[0].encode() in asked.opaque.data
        assert signatures[1] == "skip_thought_signature_validator"


async def test_an_account_that_is_not_let_in() -> None:
    """The operator hears which project, and what to run."""
    with vertex_fake() as fake:
        error = await failure(
            Vertex(PROJECT, MODEL, LOCATION, fake.base_url, credentials=signed_in("another"))
        )
    assert (type(error), error.apology) == (ModelUnusable, "key_refused")
    assert error.cause == f"GOOGLE_CLOUD_PROJECT: {PROJECT} refused access (401): {FIX}"


async def test_nobody_is_signed_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The application default credentials are looked for with the first request, and named where
    there are none."""
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "nowhere.json"))
    with vertex_fake() as fake:
        error = await failure(Vertex(PROJECT, MODEL, LOCATION, fake.base_url))
    assert (type(error), error.apology) == (ModelUnusable, "key_refused")
    assert (
        error.cause
        == f"GOOGLE_CLOUD_PROJECT: {PROJECT} refused access (DefaultCredentialsError): {FIX}"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (exceptions.RefreshError("revoked"), (ModelUnusable, "key_refused")),  # type: ignore[no-untyped-call]
        (exceptions.TransportError("no route"), (TryAgain, "model_down")),  # type: ignore[no-untyped-call]
    ],
)
async def test_a_sign_in_that_fails(error: Exception, expected: object) -> None:
    """Refused for good, or out of reach for now."""
    with vertex_fake() as fake:
        failed = await failure(
            Vertex(PROJECT, MODEL, LOCATION, fake.base_url, credentials=Broken(error))
        )
    assert (type(failed), failed.apology) == expected
