"""A stand-in for an operator's API, with its OpenAPI document: it refuses whatever the document
does not allow.

The document follows the OpenAPI specification 3.0.3 (https://spec.openapis.org/oas/v3.0.3):
parameters and their styles in "Parameter Object" and "Style Values", credentials in "Security
Scheme Object".

with PetsFake().served() as fake:
    fake.fail("status 429")
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.fakes.sources import Failing

TOKEN, KEY, USER, PASSWORD = "pets-bearer-token", "pets-api-key", "pets-user", "pets-password"
SIGNED_IN: dict[str, tuple[str, str]] = {
    "bearer": ("Authorization", f"Bearer {TOKEN}"),
    "basic": ("Authorization", f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"),
    "key": ("X-Api-Key", KEY),
}


def document() -> dict[str, Any]:
    """The API's description of itself; its server is beside it."""
    read: dict[str, Any] = json.loads(
        Path(__file__).with_name("pets_openapi.json").read_text("utf-8")
    )
    return read


class PetsFake(Failing):
    """The API.

    Attributes:
        document: what ``/openapi.json`` says; may be changed.
        requests: method and raw target of each request, without those for the document.
        body: the last one that was taken.
        traceparent: what the last request says of the trace that it belongs to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.document = document()
        self.requests: list[str] = []
        self.body: Any = None
        self.traceparent = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        if request.path == "/openapi.json":
            return web.json_response(self.document)
        self.requests.append(f"{request.method} {request.raw_path}")
        self.traceparent = request.headers.get("traceparent", "")
        if failure := await self.failed(request):
            return failure
        method, path = request.method, request.raw_path.partition("?")[0].removeprefix("/v1")
        if request.cookies or request.headers.get("Accept-Encoding") != "identity":
            return _refusal(400, "cookies and compression are not known here")
        if (method, path) == ("GET", "/pets"):
            return self._list(request)
        if (method, path) == ("POST", "/pets"):
            return await self._add(request)
        part, _, pet = path.removeprefix("/").partition("/")
        if part == "pets" and pet and "/" not in pet and method in ("GET", "DELETE"):
            return self._one(request, unquote(pet))
        return self._other(request, path)

    def _one(self, request: web.Request, pet: str) -> web.Response:
        if wrong := _signed_in(request, "key" if request.method == "GET" else "basic"):
            return wrong
        if request.method == "DELETE":
            return web.Response(status=204)
        return web.json_response({"id": pet}, headers={"Set-Cookie": "session=1"})

    def _other(self, request: web.Request, path: str) -> web.Response:
        if path.startswith("/old/"):
            return web.Response(status=301, headers={"Location": path.replace("/old/", "/v1/new/")})
        if path.startswith("/new/"):
            return web.json_response({"moved": path.removeprefix("/new/")})
        if path == "/elsewhere":
            return web.Response(status=302, headers={"Location": "http://other.example/v1/pets"})
        if path == "/loop":
            return web.Response(status=302, headers={"Location": "/v1/loop"})
        if path == "/echo" and request.query.getall("key") == [KEY]:
            return web.json_response({"you_sent": request.raw_path})
        return _refusal(404, "there is nothing here")

    def _list(self, request: web.Request) -> web.Response:
        if wrong := _signed_in(request, "bearer"):
            return wrong
        if unknown := set(request.query) - {"limit", "tags", "ids", "filter[kind]"}:
            return _refusal(400, f"unknown parameter {min(unknown)}")
        query = {name: request.query.getall(name) for name in request.query}
        return web.json_response({"query": query, "trace": request.headers.get("X-Trace")})

    async def _add(self, request: web.Request) -> web.Response:
        if wrong := _signed_in(request, "bearer"):
            return wrong
        if request.content_type != "application/json":
            return _refusal(415, "JSON only")
        self.body = json.loads(await request.text())
        if not isinstance(self.body, dict) or "name" not in self.body or "id" in self.body:
            return _refusal(422, "a pet has a name, and gets its id here")
        return web.json_response({"id": 7, **self.body}, status=201)


def _signed_in(request: web.Request, scheme: str) -> web.Response | None:
    header, value = SIGNED_IN[scheme]
    others = [name for name, _ in SIGNED_IN.values() if name != header and name in request.headers]
    return None if request.headers.get(header) == value and not others else _refusal(401, "sign in")


def _refusal(status: int, reason: str) -> web.Response:
    return web.json_response({"error": reason}, status=status)
