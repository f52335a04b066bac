"""A stand-in for Slack on loopback: its Web API, files, response URLs and Socket Mode, as strict as
the real one.

with slack_fake() as fake:
    Config(slack_bot_token=BOT_TOKEN, slack_api_base_url=fake.api_base_url, …)
    …
    assert fake.posted[0]["markdown_text"] == "Hello"
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from tests.fakes.serving import serving
from tests.fakes.slack_blocks import check_blocks
from tests.fakes.slack_rules import JSON, METHODS, Refused, check_method
from tests.fakes.slack_workspace import Workspace

BOT_TOKEN, APP_TOKEN = "xoxb-test-token", "xapp-test-token"
OUTAGE = (
    "<!DOCTYPE html><html><head><title>Server Error | Slack</title></head><body>down</body></html>"
)
LOGIN = "<!DOCTYPE html><html><head><title>Login | Slack</title></head><body>sign in</body></html>"
RESPONSES = 5  # a response URL may be used so often


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method; ``at`` in seconds since the epoch."""

    method: str
    arguments: JSON
    at: float = field(default_factory=time.time, compare=False)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What one call meets in place of an answer.

    Attributes:
        after: the call is obeyed all the same; only its answer is lost.
        silent: the line stays open, and nothing comes.
    """

    response: Callable[[], web.Response] | None
    after: bool = False
    silent: bool = False


@dataclass
class SlackFake(Workspace):
    """The service.

    Attributes:
        calls: all calls so far, refused ones included.
        responses: what response URLs were given, by their path.
        files: content and type by path.
        acknowledged: envelope ids.
        spoil_tickets: so many tickets for sockets will not be taken.
        slow_s: from a call's being obeyed to its answer.
        others: workspaces that other tokens of the same app are of, by token.
        meanwhile: what happens elsewhere while Slack carries out a method, just before it answers.
    """

    tokens: set[str] = field(default_factory=lambda: {BOT_TOKEN})
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    responses: dict[str, list[JSON]] = field(default_factory=lambda: defaultdict(list))
    expired: set[str] = field(default_factory=set)
    acknowledged: list[str] = field(default_factory=list)
    spoil_tickets: int = 0
    slow_s: float = 0.0
    others: dict[str, SlackFake] = field(default_factory=dict)
    meanwhile: dict[str, Callable[[], object]] = field(default_factory=dict)
    _troubles: dict[str, deque[Trouble]] = field(default_factory=lambda: defaultdict(deque))
    _sockets: list[web.WebSocketResponse] = field(default_factory=list)
    _lost: int = 0
    _tickets: set[str] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def api_base_url(self) -> str:
        """What SLACK_API_BASE_URL must be."""
        return f"{self.origin}/api/"

    @property
    def connected(self) -> int:
        """Sockets that are open now."""
        return sum(not socket.closed for socket in self._sockets) - self._lost

    @property
    def opened(self) -> int:
        """Sockets that have been opened so far."""
        return len(self._sockets)

    def called(self, method: str) -> list[JSON]:
        """The arguments of every call of one method."""
        return [call.arguments for call in self.calls if call.method == method]

    def fail(self, method: str, error: str, times: int = 1) -> None:
        """``{"ok": false}``."""
        self._trouble(
            method, Trouble(lambda: web.json_response({"ok": False, "error": error})), times
        )

    def limit(self, method: str, seconds: int | str) -> None:
        """Too many calls."""
        headers = {"Retry-After": str(seconds)}
        body = {"ok": False, "error": "ratelimited"}
        self._trouble(method, Trouble(lambda: web.json_response(body, status=429, headers=headers)))

    def break_down(
        self, method: str, *, after: bool = False, status: int = 503, times: int = 1
    ) -> None:
        """A page of HTML in place of an answer; with ``after`` the call is obeyed all the same."""
        trouble = Trouble(
            lambda: web.Response(text=OUTAGE, status=status, content_type="text/html"), after
        )
        self._trouble(method, trouble, times)

    def garble(self, method: str, body: str, content_type: str) -> None:
        """Something that is no answer, with a friendly status."""
        self._trouble(method, Trouble(lambda: web.Response(text=body, content_type=content_type)))

    def hang_up(self, method: str, *, after: bool = False) -> None:
        """The connection ends in place of an answer."""
        self._trouble(method, Trouble(None, after))

    def stall(self, method: str, *, after: bool = False) -> None:
        """No answer, on a connection that stays."""
        self._trouble(method, Trouble(None, after, silent=True))

    def recover(self) -> None:
        """Everything works again."""
        self._troubles.clear()

    def _trouble(self, method: str, trouble: Trouble, times: int = 1) -> None:
        self._troubles[method] += [trouble] * times

    def send(self, payload: JSON, kind: str = "events_api") -> str:
        """Send an envelope through the newest open socket; its id."""
        envelope_id = secrets.token_hex(8)
        envelope = {
            "envelope_id": envelope_id,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": False,
        }
        self._speak(envelope)
        return envelope_id

    def ask_to_reconnect(self) -> None:
        """Slack does so every few hours."""
        self._speak({"type": "disconnect", "reason": "refresh_requested"})

    def drop_sockets(self) -> None:
        """Close every socket without a word."""
        assert self._loop is not None
        for socket in self._sockets:
            asyncio.run_coroutine_threadsafe(socket.close(), self._loop).result(timeout=10)

    def _speak(self, message: JSON) -> None:
        assert self._loop is not None
        socket = next(socket for socket in reversed(self._sockets) if not socket.closed)
        asyncio.run_coroutine_threadsafe(socket.send_json(message), self._loop).result(timeout=10)

    # What follows runs in the fake's own thread.

    async def api(self, request: web.Request) -> web.StreamResponse:
        """Serve a method of the Web API."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token in self.others:
            return await self.others[token].api(request)
        method = request.match_info["method"]
        arguments = await _arguments(request, method)
        self.calls.append(Call(method, arguments))
        trouble = self._troubles[method].popleft() if self._troubles[method] else None
        if trouble is None or trouble.after:
            answer = self._answer(method, arguments, request.headers.get("Authorization", ""))
        self.meanwhile.get(method, lambda: None)()
        await asyncio.sleep(self.slow_s)
        if trouble is None:
            return web.json_response(answer, headers={"x-oauth-scopes": ",".join(self.scopes)})
        if trouble.response:
            return trouble.response()
        if trouble.silent:
            await asyncio.Event().wait()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def _answer(self, method: str, arguments: JSON, authorization: str) -> JSON:
        token = authorization.removeprefix("Bearer ")
        try:
            if not authorization.startswith("Bearer "):
                raise Refused("not_authed")
            if method == "apps.connections.open":
                return self._open_connection(token)
            if token not in self.tokens:
                raise Refused("invalid_auth")
            check_method(method, arguments, self.scopes)
            return self.obey(method, arguments)
        except Refused as refused:
            return refused.answer

    def _open_connection(self, token: str) -> JSON:
        if token != APP_TOKEN:
            raise Refused("invalid_auth" if token not in self.tokens else "not_allowed_token_type")
        ticket = secrets.token_hex(8)
        if self.spoil_tickets:
            self.spoil_tickets -= 1
        else:
            self._tickets.add(ticket)
        return {"ok": True, "url": f"{self.origin.replace('http', 'ws')}/link?ticket={ticket}"}

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve a response URL."""
        path = request.path
        if self._troubles[path]:
            trouble = self._troubles[path].popleft()
            assert trouble.response is not None
            return trouble.response()
        if path in self.expired:
            return web.Response(status=404, text="expired_url")
        if len(self.responses[path]) >= RESPONSES:
            return web.Response(status=404, text="used_url")
        payload = await request.json()
        if payload.get("response_type") not in ("ephemeral", "in_channel") or not payload.get(
            "text"
        ):
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        try:
            check_blocks(payload.get("blocks"))
        except Refused as refused:
            return web.json_response(refused.answer, status=400)
        self.responses[path].append(payload)
        return web.Response(text="ok")

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Serve a file, or the login page to whoever may not have it."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.tokens or "files:read" not in self.scopes:
            return web.Response(text=LOGIN, content_type="text/html")
        if request.path not in self.files:
            return web.Response(status=404)
        content, kind = self.files[request.path]
        return web.Response(body=content, content_type=kind)

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Take a file's content at the address that was given for it."""
        if self._troubles["upload"] and (response := self._troubles["upload"].popleft().response):
            return response()
        upload = self.uploads.get(request.match_info["id"])
        if upload is None:
            return web.Response(status=404)
        upload.content = await request.read()
        return web.Response(text=f"OK - {len(upload.content)}")

    async def link(self, request: web.Request) -> web.StreamResponse:
        """Serve a socket of Socket Mode; a ticket is good for one."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=400)
        self._tickets.discard(ticket)
        self._loop = asyncio.get_running_loop()
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1})
        self._sockets.append(socket)
        try:
            async for spoken in socket:
                if spoken.type == WSMsgType.TEXT:
                    self.acknowledged.append(json.loads(spoken.data)["envelope_id"])
        finally:
            self._lost += not socket.closed  # its process was killed
        return socket


async def _arguments(request: web.Request, method: str) -> JSON:
    """The arguments, by query, form or JSON; a method that reads takes no JSON."""
    arguments: JSON = dict(request.query)
    if request.content_type == "application/json" and request.can_read_body:
        return (
            arguments
            if METHODS.get(method, {}).get("form_only")
            else arguments | await request.json()
        )
    for name, value in (await request.post()).items():
        arguments[name] = value
    arguments.pop("token", None)
    return arguments


@contextmanager
def slack_fake() -> Iterator[SlackFake]:
    """The service on a free port, in a thread of its own."""
    fake = SlackFake()
    application = web.Application()
    application.router.add_route("*", "/api/{method}", fake.api)
    application.router.add_post("/commands/{id}", fake.respond)
    application.router.add_post("/actions/{id}", fake.respond)
    application.router.add_get("/files-pri/{path:.*}", fake.file)
    application.router.add_post("/upload/v1/{id}", fake.upload)
    application.router.add_get("/link", fake.link)
    with serving(application) as fake.origin:
        yield fake
