"""Vertex AI before its stand-in: Gemini by another door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from google.oauth2.credentials import Credentials

from bot.providers.gemini.vertex import Vertex
from bot.providers.shared.entry import USUAL, Options
from tests.bot.providers.subjects.gemini import GeminiSubject
from tests.fakes.vertex import LOCATION, PROJECT, TOKEN, vertex_fake


@asynccontextmanager
async def vertex_subject(
    model: str = "gemini-3.5-flash", key: str = TOKEN, options: Options = USUAL
) -> AsyncIterator[GeminiSubject]:
    """The provider and its stand-in; the key is the token of the credentials."""
    with vertex_fake() as fake:
        signed_in = Credentials(token=key)  # type: ignore[no-untyped-call]
        provider = Vertex(PROJECT, model, LOCATION, fake.base_url, options, credentials=signed_in)
        subject = GeminiSubject(fake, provider)
        subject.key = TOKEN
        subject.variable = "GOOGLE_CLOUD_PROJECT"
        yield subject
        await provider.aclose()
