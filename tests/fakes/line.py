"""A stand-in for LINE on loopback: refuses what the real one refuses, and fails as a test has told
it to.

with line_fake() as fake:
    event = fake.event(message=text_message("Hello"))
    body, headers = webhook(event)
    Line(line_config(fake.base_url), …)
    assert fake.texts == [["Hi!"]]
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from tests.fakes import line_events, line_rules
from tests.fakes.line_events import BOT, CHANNEL, GROUP, JSON, SECRET, TOKEN, USER
from tests.fakes.line_menus import Menus
from tests.fakes.line_refusals import Refused
from tests.fakes.line_traffic import Image, Request, Sent, Token
from tests.fakes.serving import serving

MINUTE_S = 60.0
PERSON = {"displayName": "Hanako", "language": "ja"}
ID = re.compile(r"[UCR][0-9a-f]{32}")

Answer = JSON | web.Response
Trouble = Literal["cut", "stalled", "garbled", "unheard"]


@dataclass(slots=True)
class LineFake:
    """The service.

    Attributes:
        base_url: of the API and the data host alike.
        requests: all that came in, refused ones included.
        sent: what people see, in order.
        loading: animations shown: user and seconds.
        read: tokens of messages marked as read.
        limit, used: the month's messages; None for no limit.
        members: of groups and rooms, two people where nothing is said.
        people: profiles by user id; with none, nobody's can be seen.
        slow_s: from a call's being obeyed to its answer.
        webhook: the endpoint, if one is set.
        uses_webhook: whether an endpoint that is set is used: a switch of the console.
        webhook_test: what LINE's own test comes to.
    """

    base_url: str = ""
    access_token: str = TOKEN
    channel_secret: str = SECRET
    requests: list[Request] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    loading: list[tuple[str, int]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    limit: int | None = None
    used: int = 0
    slow_s: float = 0.0
    members: dict[str, int] = field(default_factory=dict)
    people: dict[str, JSON] = field(default_factory=lambda: {USER: PERSON})
    webhook: JSON | None = None
    uses_webhook: bool = True
    webhook_test: JSON = field(
        default_factory=lambda: {
            "success": True,
            "statusCode": 200,
            "reason": "OK",
            "detail": "200",
        }
    )
    chat_mode: str = "bot"
    menus: Menus = field(default_factory=Menus)
    _tokens: dict[str, Token] = field(default_factory=dict)
    _retry_keys: dict[str, str] = field(default_factory=dict)
    _images: dict[str, Image] = field(default_factory=dict)
    _troubles: defaultdict[str, deque[Trouble | Refused]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    _retry_after: str = ""
    _ahead: float = 0.0

    @property
    def texts(self) -> list[list[str]]:
        """The words of everything sent, bubble by bubble."""
        return [sent.texts for sent in self.sent]

    def event(
        self, kind: str = "message", place: str = USER, user: str | None = USER, **fields: Any
    ) -> JSON:
        """An event with a reply token that works."""
        token = secrets.token_hex(16)
        self._tokens[token] = Token(place, self._now())
        timestamp = time.time_ns() // 1_000_000 + round(self._ahead * 1000)
        return line_events.event(
            kind, place, user, **{"replyToken": token, "timestamp": timestamp, **fields}
        )

    def text(self, text: str, place: str = USER, user: str | None = USER) -> JSON:
        """The event of a text."""
        return self.event(place=place, user=user, message=line_events.text_message(text))

    def mention(self, text: str, place: str = GROUP, user: str | None = USER) -> JSON:
        """The event of a text that mentions the bot first."""
        return self.event(place=place, user=user, message=line_events.addressed_message(text))

    def press(self, label: str, user: str | None = USER) -> JSON:
        """The event of a button being pressed, where it was shown last."""
        sent = next(sent for sent in reversed(self.sent) if label in sent.buttons)
        action = sent.buttons[label]
        if action["type"] == "postback":
            return self.event("postback", sent.to, user, postback={"data": action["data"]})
        return self.text(action["text"], sent.to, user)

    def token(self, place: str = USER) -> str:
        """A reply token that works."""
        token: str = self.event(place=place)["replyToken"]
        return token

    def expire(self, token: str, seconds: float = MINUTE_S) -> None:
        """A reply token is older by so much, as when its event comes again after an outage."""
        self._tokens[token].issued_at -= seconds

    def advance(self, seconds: float) -> None:
        """Let time pass for reply tokens and events."""
        self._ahead += seconds

    def image(
        self,
        message_id: str,
        data: bytes,
        content_type: str = "image/jpeg",
        pending: int = 0,
        *,
        broken: bool = False,
    ) -> None:
        """Keep an image, a recording or a file; so many requests are told that it is not ready."""
        self._images[message_id] = Image(data, content_type, pending, broken)

    def fail(
        self,
        call: str,
        status: int,
        message: str = "failure",
        times: int = 1,
        retry_after: str = "",
        raw: bytes = b"",
    ) -> None:
        """Answer the next requests of a call so, without doing anything; ``raw`` in place of LINE's
        own form."""
        self._retry_after = retry_after
        self._troubles[call].extend([Refused(status, message, raw=raw)] * times)

    def trouble(self, call: str, trouble: Trouble, times: int = 1) -> None:
        """Do what the next requests of a call ask, and then cut the line, stay silent, or talk
        nonsense.

        One that is ``unheard`` is not done either.
        """
        self._troubles[call].extend([trouble] * times)

    def calls(self, call: str) -> list[Request]:
        """The requests of one call."""
        return [request for request in self.requests if request.call == call]

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        call = request.match_info.route.name or ""
        body, places = await request.read(), dict(request.match_info)
        arrived = Request(call, request.path, dict(request.headers), body, places)
        self.requests.append(arrived)
        trouble = self._troubles[call].popleft() if self._troubles[call] else None
        try:
            is_known = request.headers.get("Authorization") == f"Bearer {self.access_token}"
            if not is_known and call not in SIGNS_ITSELF:
                raise Refused(401, "Authentication failed. Confirm that the access token is valid.")
            if isinstance(trouble, Refused):
                raise trouble
            if trouble == "unheard":
                await asyncio.Event().wait()
            line_rules.check_retry_key(call, request.headers.get("X-Line-Retry-Key"))
            given = CALLS[call][2](self, arrived)
            answer = given if isinstance(given, web.Response) else _json(given)
        except Refused as refused:
            answer = web.Response(
                body=refused.body, status=refused.status, content_type="application/json"
            )
            if self._retry_after:
                answer.headers["Retry-After"] = self._retry_after
            if refused.status == 409:
                answer.headers["X-Line-Accepted-Request-Id"] = self._retry_keys[
                    request.headers["X-Line-Retry-Key"]
                ]
        await asyncio.sleep(self.slow_s)
        answer.headers["X-Line-Request-Id"] = secrets.token_hex(16)
        return await _troubled(request, answer, trouble)

    def _now(self) -> float:
        return time.monotonic() + self._ahead

    def _reply(self, asked: Request) -> Answer:
        body = line_rules.check("reply", asked.raw)
        token = self._tokens.get(body["replyToken"])
        if token is None or token.used or self._now() - token.issued_at > MINUTE_S:
            raise Refused(400, "Invalid reply token")
        token.used = True
        return self._take("reply", token.place, body["messages"])

    def _push(self, asked: Request) -> Answer:
        body = line_rules.check("push", asked.raw)
        key = asked.headers.get("X-Line-Retry-Key", "")
        if key in self._retry_keys:
            raise Refused(409, "The retry key is already accepted")
        if not ID.fullmatch(body["to"]):
            raise Refused(
                400, "The property, 'to', in the request body is invalid (line: -, column: -)"
            )
        cost = 1 if body["to"][0] == "U" else self._count(body["to"])
        if self.limit is not None and self.used + cost > self.limit:
            raise Refused(429, "You have reached your monthly limit.")
        self.used += cost
        if key:
            self._retry_keys[key] = secrets.token_hex(16)
        return self._take("push", body["to"], body["messages"])

    def _take(self, call: str, to: str, messages: list[JSON]) -> JSON:
        ids = [line_events.message_id() for _ in messages]
        self.sent.append(Sent(call, to, messages, ids))
        return {"sentMessages": [{"id": message_id, "quoteToken": "q"} for message_id in ids]}

    def _loading(self, asked: Request) -> Answer:
        body = line_rules.check("loading", asked.raw)
        if not re.fullmatch(r"U[0-9a-f]{32}", body["chatId"]):
            raise Refused(400, "Failed to specify chat ID")
        self.loading.append((body["chatId"], body.get("loadingSeconds", 20)))
        return _json({}, 202)

    def _mark(self, asked: Request) -> Answer:
        self.read.append(line_rules.check("mark", asked.raw)["markAsReadToken"])
        return {}

    def _quota(self, asked: Request) -> Answer:
        return {"type": "none"} if self.limit is None else {"type": "limited", "value": self.limit}

    def _consumption(self, asked: Request) -> Answer:
        return {"totalUsage": self.used}

    def _profile(self, asked: Request) -> Answer:
        user = asked.places["user"]
        if user not in self.people:
            raise Refused(404, "Not found")
        profile = {"userId": user, **self.people[user]}
        if "chat" in asked.places:
            profile.pop("language", None)
        return profile

    def _members(self, asked: Request) -> Answer:
        return {"count": self._count(asked.places["chat"])}

    def _count(self, place: str) -> int:
        return self.members.get(place, 2)

    def _content(self, asked: Request) -> Answer:
        image = self._images.get(asked.places["message"])
        if image is None:
            raise Refused(404, "Not found")
        if image.is_broken:
            return web.Response(status=202)
        if image.pending:
            image.pending -= not image.is_recording
            return web.Response(status=202)
        return web.Response(body=image.data, content_type=image.content_type)

    def _transcoding(self, asked: Request) -> Answer:
        """How far a recording is; LINE converts nothing else."""
        recording = self._images.get(asked.places["message"])
        if recording is None or not recording.is_recording:
            raise Refused(404, "Not found")
        if recording.is_broken:
            return {"status": "failed"}
        if recording.pending:
            recording.pending -= 1
            return {"status": "processing"}
        return {"status": "succeeded"}

    def _info(self, asked: Request) -> Answer:
        modes = {
            "chatMode": self.chat_mode,
            "markAsReadMode": "auto" if self.chat_mode == "bot" else "manual",
        }
        return {"userId": BOT, "basicId": "@216test", "displayName": "Kaiwa test", **modes}

    def _endpoint(self, asked: Request) -> Answer:
        if self.webhook is None:
            raise Refused(404, "Not found")
        return self.webhook

    def _set_endpoint(self, asked: Request) -> Answer:
        self.webhook = {
            "endpoint": line_rules.check("set", asked.raw)["endpoint"],
            "active": self.uses_webhook,
        }
        return {}

    def _test_endpoint(self, asked: Request) -> Answer:
        if asked.raw:
            line_rules.check("test", asked.raw)
        return {"timestamp": "2026-01-01T00:00:00.000Z", **self.webhook_test}

    def _create_menu(self, asked: Request) -> Answer:
        return {"richMenuId": self.menus.create(line_rules.check("menu", asked.raw))}

    def _menu(self, asked: Request) -> Answer:
        return self.menus.find(asked.places["menu"]).body

    def _menu_picture(self, asked: Request) -> Answer:
        self.menus.draw(asked.places["menu"], asked.raw, asked.headers["Content-Type"])
        return {}

    def _delete_menu(self, asked: Request) -> Answer:
        self.menus.delete(asked.places["menu"])
        return {}

    def _verify(self, asked: Request) -> Answer:
        if asked.form != {"access_token": self.access_token}:
            raise Refused(400, "", raw=_oauth_error("invalid_request", "access token expired"))
        return {"client_id": CHANNEL, "expires_in": 3_138_007_490, "scope": "P CM"}

    def _issue(self, asked: Request) -> Answer:
        form = dict(asked.form)
        if form.pop("client_secret", "") != self.channel_secret:
            raise Refused(400, "", raw=_oauth_error("invalid_client", "invalid client secret"))
        if form != {"grant_type": "client_credentials", "client_id": CHANNEL}:
            raise Refused(400, "", raw=_oauth_error("invalid_request", "no such channel"))
        return {"token_type": "Bearer", "access_token": "stateless", "expires_in": 899}

    def _default_menu(self, asked: Request) -> Answer:
        return {"richMenuId": self.menus.shown}

    def _set_default_menu(self, asked: Request) -> Answer:
        self.menus.show(asked.places["menu"])
        return {}


Handler = Callable[[LineFake, Request], Answer]
CALLS: dict[str, tuple[str, str, Handler]] = {
    "reply": ("POST", "/v2/bot/message/reply", LineFake._reply),
    "push": ("POST", "/v2/bot/message/push", LineFake._push),
    "loading": ("POST", "/v2/bot/chat/loading/start", LineFake._loading),
    "mark": ("POST", "/v2/bot/chat/markAsRead", LineFake._mark),
    "quota": ("GET", "/v2/bot/message/quota", LineFake._quota),
    "consumption": ("GET", "/v2/bot/message/quota/consumption", LineFake._consumption),
    "profile": ("GET", "/v2/bot/profile/{user}", LineFake._profile),
    "group_profile": ("GET", "/v2/bot/group/{chat}/member/{user}", LineFake._profile),
    "room_profile": ("GET", "/v2/bot/room/{chat}/member/{user}", LineFake._profile),
    "group_members": ("GET", "/v2/bot/group/{chat}/members/count", LineFake._members),
    "room_members": ("GET", "/v2/bot/room/{chat}/members/count", LineFake._members),
    "transcoding": ("GET", "/v2/bot/message/{message}/content/transcoding", LineFake._transcoding),
    "content": ("GET", "/v2/bot/message/{message}/content", LineFake._content),
    "info": ("GET", "/v2/bot/info", LineFake._info),
    "endpoint": ("GET", "/v2/bot/channel/webhook/endpoint", LineFake._endpoint),
    "set": ("PUT", "/v2/bot/channel/webhook/endpoint", LineFake._set_endpoint),
    "test": ("POST", "/v2/bot/channel/webhook/test", LineFake._test_endpoint),
    "menu": ("POST", "/v2/bot/richmenu", LineFake._create_menu),
    "get_menu": ("GET", "/v2/bot/richmenu/{menu}", LineFake._menu),
    "delete_menu": ("DELETE", "/v2/bot/richmenu/{menu}", LineFake._delete_menu),
    "menu_picture": ("POST", "/v2/bot/richmenu/{menu}/content", LineFake._menu_picture),
    "default_menu": ("GET", "/v2/bot/user/all/richmenu", LineFake._default_menu),
    "set_default_menu": ("POST", "/v2/bot/user/all/richmenu/{menu}", LineFake._set_default_menu),
    "verify": ("POST", "/v2/oauth/verify", LineFake._verify),
    "issue": ("POST", "/oauth2/v3/token", LineFake._issue),
}
SIGNS_ITSELF = ("verify", "issue")  # what they ask for is in the form


@contextmanager
def line_fake() -> Iterator[LineFake]:
    """The service on a free port, in a thread of its own."""
    fake = LineFake()
    application = web.Application()
    for name, (method, path, _) in CALLS.items():
        application.router.add_route(method, path, fake.respond, name=name)
    with serving(application) as fake.base_url:
        yield fake


async def _troubled(
    request: web.Request, answer: web.Response, trouble: Trouble | Refused | None
) -> web.Response:
    if trouble == "cut" and request.transport is not None:
        request.transport.abort()
    if trouble == "stalled":
        await asyncio.Event().wait()
    if trouble == "garbled":
        return web.Response(body=b"<html>\xff</html>", content_type="text/html")
    return answer


def _json(body: JSON, status: int = 200) -> web.Response:
    """LINE's JSON; unlike msgspec, ``json`` also writes half a surrogate pair."""
    return web.Response(
        body=json.dumps(body).encode(), status=status, content_type="application/json"
    )


def _oauth_error(error: str, description: str) -> bytes:
    """The form of errors of the API for tokens."""
    return json.dumps({"error": error, "error_description": description}).encode()
