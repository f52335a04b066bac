"""LINE, Slack, Gemini and wttr.in: lean, so that they leave the machine to what is measured.

They answer what the strict stand-ins of the tests answer, and check nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs

from tests.fakes.gemini_answers import event
from tests.fakes.slack_events import BOT, TEAM
from tests.fakes.wttr_bodies import Weather, report

JSON = dict[str, Any]
ANSWER = "It is fine and 21 degrees in Kyoto today, with a light wind from the south."
SENT = {"sentMessages": [{"id": "461230966842064897", "quoteToken": "IStG5h1Tz7b"}]}
PROFILE = {"displayName": "Aki", "userId": "U0", "language": "en"}
IDENTITY = {
    "ok": True,
    "user": "kaiwa",
    "user_id": BOT,
    "bot_id": "B0000000B",
    "team": "Test",
    "team_id": TEAM,
}
USER = {
    "ok": True,
    "user": {"id": "U0", "locale": "en-US", "tz": "Asia/Tokyo", "profile": {"display_name": "Aki"}},
}
CACHED = json.dumps({"name": "cachedContents/1", "model": "models/gemini-3.5-flash"}).encode()
FIRST_WORD = b"data: " + json.dumps(event([{"text": "Well, "}])).encode() + b"\n\n"
WEATHER = json.dumps(report(Weather("Kyoto", "Kyoto", "Japan"))).encode()


class Request(NamedTuple):
    """One request; ``path`` has its query."""

    path: str
    head: bytes
    body: bytes

    def fields(self) -> JSON:
        """The fields of a JSON body or of a form."""
        if b"content-type: application/json" in self.head.lower():
            found: JSON = json.loads(self.body)
            return found
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


class Reply(NamedTuple):
    """What a server answers.

    Attributes:
        begins: a part of the body that goes out at once where the rest is held back.
    """

    kind: str
    body: bytes
    begins: bytes = b""


class Platforms:
    """The servers' answers, and who has been answered.

    Attributes:
        tool_every: the model asks for the weather before each nth answer; 0: before none.
        gate: while it is clear, the model gets no further than its first word.
        thinking: answers that are held back by the gate.
        calls: how many requests each of ``line``, ``slack``, ``gemini`` and ``wttr`` got.
        answered: what a person waits for, by the reply token or the channel.
        more_than_once: answers to somebody who waited for none.
        answers: how many each got.
    """

    def __init__(self) -> None:
        self.tool_every = 0
        self._asked = 0  # questions of people
        self.gate = asyncio.Event()
        self.gate.set()
        self.thinking = 0
        self.calls = {"line": 0, "slack": 0, "gemini": 0, "wttr": 0}
        self.answered: dict[str, asyncio.Future[None]] = {}
        self.more_than_once = 0
        self.answers = Counter[str]()

    def serve(self, request: Request) -> Reply:
        """The answer to a request; who it is for is told by the path."""
        path = request.path
        if "enerateContent" in path:
            self.calls["gemini"] += 1
            return self._generate(request.body, is_stream="streamGenerateContent" in path)
        if path.startswith("/api/"):
            self.calls["slack"] += 1
            return Reply("application/json", json.dumps(self._slack(path[5:], request)).encode())
        if path.startswith("/v2/"):
            self.calls["line"] += 1
            return Reply("application/json", json.dumps(self._line(path, request)).encode())
        if "format=j1" in path:
            self.calls["wttr"] += 1
            return Reply("application/json", WEATHER)
        return Reply("application/json", CACHED if "cachedContents" in path else b"{}")

    def _generate(self, body: bytes, *, is_stream: bool) -> Reply:
        asks = self.tool_every > 0 and b"functionResponse" not in body
        if asks:
            self._asked += 1
            asks = self._asked % self.tool_every == 0
        call = {
            "functionCall": {"name": "get_weather", "args": {"location": "Kyoto"}},
            "thoughtSignature": "c2ln",
        }
        made = event([call] if asks else [{"text": ANSWER}])
        made["candidates"][0]["finishReason"] = "STOP"
        answer = json.dumps(made).encode()
        if not is_stream:
            begins = b"" if self.gate.is_set() else b" "  # JSON may begin with a blank
            return Reply("application/json", answer, begins)
        begins = b"" if self.gate.is_set() else FIRST_WORD
        return Reply("text/event-stream", b"data: " + answer + b"\n\n", begins)

    def _line(self, path: str, request: Request) -> JSON:
        if path.startswith("/v2/bot/message/reply"):
            self._answer(json.loads(request.body)["replyToken"])
            return SENT
        if path.startswith("/v2/bot/profile/"):
            return PROFILE
        return {}

    def _slack(self, method: str, request: Request) -> JSON:
        if method == "chat.postMessage":
            channel = request.fields()["channel"]
            self._answer(channel)
            return {
                "ok": True,
                "channel": channel,
                "ts": "1795000000.000200",
                "message": {"text": ANSWER},
            }
        if method == "auth.test":
            return IDENTITY
        return USER if method == "users.info" else {"ok": True}

    def _answer(self, who: str) -> None:
        self.answers[who] += 1
        waiting = self.answered.get(who)
        if waiting is None or waiting.done():
            self.more_than_once += 1
        else:
            waiting.set_result(None)


class HTTP(asyncio.Protocol):
    """One connection of HTTP/1.1."""

    def __init__(self, platforms: Platforms) -> None:
        self._platforms = platforms
        self._got = b""
        self._held: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = self._got[:end]
            lines = head.split(b"\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in lines[1:])
            whole = end + 4 + int(fields.get(b"content-length", b"0"))
            if len(self._got) < whole:
                return
            request = Request(lines[0].split(b" ")[1].decode(), head, self._got[end + 4 : whole])
            self._got = self._got[whole:]
            self._answer(self._platforms.serve(request))

    def _answer(self, reply: Reply) -> None:
        length = len(reply.begins) + len(reply.body)
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {reply.kind}\r\nContent-Length: "
            f"{length}\r\nx-oauth-scopes: \r\n\r\n"
        )
        if reply.begins:
            self._transport.write(head.encode() + reply.begins)
            self._held = asyncio.ensure_future(self._hold(reply.body))
        else:
            self._transport.write(head.encode() + reply.body)

    async def _hold(self, body: bytes) -> None:
        self._platforms.thinking += 1
        try:
            await self._platforms.gate.wait()
        finally:
            self._platforms.thinking -= 1
        self._transport.write(body)

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._held is not None:  # who asked is gone
            self._held.cancel()


@asynccontextmanager
async def platforms_here() -> AsyncIterator[tuple[Platforms, str]]:
    """The servers, all at one address, in this process."""
    platforms = Platforms()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HTTP(platforms), "127.0.0.1", 0, backlog=4096)
    try:
        yield platforms, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
