"""Access to the page, the console's routes and the metrics: from this machine alone, or with the
token."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from bot.texts import Texts, preferred_language
from bot.web.signin import SignIn

PROXY_HEADERS = re.compile(
    r"forwarded|via|x-forwarded-.*|x-real-ip|x-original-.*|x-client-ip|x-cluster-client-ip|x-envoy-.*|cf-.*|cdn-loop"
    r"|true-client-ip|fastly-.*"
)
LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
# The style and icon of the sign-in page are there; nothing there is secret.
PUBLIC = "/static/"
SAFE_METHODS = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
        "'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for "
        "'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware around everything that only the operator may see.

    Args:
        signin: checks the token; without one, requests from this machine alone pass.
        trusts_machine: False where a proxy is expected: without a token no request passes at all.
        language: of error messages, unless the browser asks for another one that the catalogue has.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        signin: SignIn,
        texts: Texts,
        language: str,
        trusts_machine: bool = True,
    ) -> None:
        self._app = app
        self._texts = texts
        self._language = language
        self._trusts_machine = trusts_machine
        self._signin = signin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008)(scope, receive, send)
        else:
            answer = await self._answer(Request(scope, receive))
            await (answer or self._app)(scope, receive, _with_headers(send))

    async def _answer(self, request: Request) -> Response | None:
        """The response that stops the request; None lets it pass."""
        if self._signin.is_on:
            return await self._token_answer(request)
        if not self._trusts_machine:
            return self._refusal(request, "closed")
        if is_local(request):
            return None
        return self._refusal(request, "only_here")

    async def _token_answer(self, request: Request) -> Response | None:
        path, safe = request.url.path, request.method in SAFE_METHODS
        if safe and path.startswith(PUBLIC):
            return None
        if not safe and is_cross_site(request.headers):
            return self._refusal(request, "cross_site")
        language = self._language_for(request)
        if path == "/signin" and not safe:
            return await self._signin.enter(request, language)
        if (refused := self._signin.refusal(request, language)) is not None:
            return refused
        if path == "/signout" and not safe:
            return self._signin.leave(request)
        if path == "/signin":
            return RedirectResponse("/", 303)
        return None

    def _refusal(self, request: Request, key: str) -> Response:
        sentence = self._texts.get(f"guard.{key}", self._language_for(request))
        if request.url.path.startswith("/console/"):
            return JSONResponse({"error": sentence}, 403)
        return PlainTextResponse(f"{sentence}\n", 403)

    def _language_for(self, request: Request) -> str:
        return preferred_language(request.headers.get("accept-language", ""), self._language)


def is_local(request: Request) -> bool:
    """Whether a request comes from a program on this machine and is meant for this machine, as far
    as can be known.

    Behind a proxy every visitor looks local. So a request with a header that proxies add is not
    local, nor is one from a Unix socket, where proxies connect. Some proxies add no header: this
    function decides nothing where a proxy is expected. A foreign Host is DNS rebinding; a foreign
    Origin is a page of another site in a browser on this machine.
    """
    headers = request.headers
    hosts = headers.getlist("host")
    return (
        request.client is not None
        and _is_loopback(request.client.host)
        and len(hosts) == 1
        and LOCAL_HOST.fullmatch(hosts[0]) is not None
        and not any(PROXY_HEADERS.fullmatch(name) for name in headers)
        and (_is_followed_link(request) or not is_cross_site(headers))
    )


def is_cross_site(headers: Headers) -> bool:
    """Whether a page of another site sent this. A site is a host: ports and scheme (TLS ends at a
    proxy) vary."""
    if headers.get("sec-fetch-site") == "cross-site":
        return True
    if (origin := headers.get("origin")) is None:
        return False
    site = _hostname(origin)
    return site is None or site != _hostname(f"//{headers.get('host', '')}")


def _is_followed_link(request: Request) -> bool:
    """Whether a visitor clicked a link on another site: that site can neither read the answer nor
    change anything."""
    headers = request.headers
    return (
        request.method in SAFE_METHODS
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "origin" not in headers
    )


def _is_loopback(peer: str) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _hostname(url: str) -> str | None:
    """The host of ``//host:port`` or of an origin, in lower case; None for ``null`` and for
    nonsense."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
