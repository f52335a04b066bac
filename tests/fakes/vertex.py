"""A stand-in for Gemini on Vertex AI: the one for the Gemini API behind Google Cloud's paths and
sign-in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from aiohttp import web

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_caches import CachedContents
from tests.fakes.gemini_rules import Refused
from tests.fakes.serving import serving

PROJECT = "test-project"
LOCATION = "asia-northeast1"
TOKEN = "ya29.test-token"
PLACE = f"projects/{PROJECT}/locations/{LOCATION}"
PUBLISHED = "publishers/google/models/"
CARDS = f"/{{version}}/{PUBLISHED}{{model}}"  # the same in every project
MODELS = f"/{{version}}/{PLACE}/{PUBLISHED}{{model}}"
ENDPOINTS = f"/{{version}}/{PLACE}/endpoints/{{model}}"  # of tuned models
CACHES = f"/{{version}}/{PLACE}/cachedContents{{slash:/?}}{{key:.*}}"


class VertexFake(GeminiFake):
    """The service; it takes a bearer token and no key."""

    def __init__(self) -> None:
        super().__init__()
        self.caches = CachedContents(f"{PLACE}/", f"{PLACE}/{PUBLISHED}", missing=404)

    def check_key(self, headers: Mapping[str, str]) -> None:
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused("Request had invalid authentication credentials.", 401)
        if "x-goog-api-key" in headers:
            raise Refused("Please use only one way to sign in.")


@contextmanager
def vertex_fake() -> Iterator[VertexFake]:
    """The service on a free port, in a thread of its own."""
    fake = VertexFake()
    application = web.Application()
    for path in (MODELS, CARDS, ENDPOINTS):
        application.router.add_route("*", path, fake.respond)
    application.router.add_route("*", CACHES, fake.respond_cached)
    with serving(application) as fake.base_url:
        yield fake
