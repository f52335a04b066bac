"""A stand-in for Gemini on Vertex AI: the one for the Gemini API behind Google Cloud's paths and sign-in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from aiohttp import web

from tests.fakes.gemini import KEY, Answer, GeminiFake, GeminiRequest, failure
from tests.fakes.serving import serving

PROJECT = "test-project"
LOCATION = "asia-northeast1"
TOKEN = "ya29.test-token"
MODELS = f"/{{version}}/projects/{PROJECT}/locations/{LOCATION}/publishers/google/models/{{model}}"
CARDS = "/{version}/publishers/google/models/{model}"  # the same in every project


class VertexFake(GeminiFake):
    """The service; it takes a bearer token and no key."""

    def _refusal(self, request: GeminiRequest) -> Answer | None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return failure(401, "Request had invalid authentication credentials.")
        if "x-goog-api-key" in request.headers:
            return failure(400, "Please use only one way to sign in.")
        return super()._refusal(replace(request, headers={**request.headers, "x-goog-api-key": KEY}))


@contextmanager
def vertex_fake() -> Iterator[VertexFake]:
    """The service on a free port, in a thread of its own."""
    fake = VertexFake()
    application = web.Application()
    for path in (MODELS, CARDS):
        application.router.add_route("*", path, fake.respond)
    with serving(application) as fake.base_url:
        yield fake
