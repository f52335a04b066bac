"""Without a token the page answers this machine alone, whatever a request claims to be."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from bot import texts
from bot.web.guard import Guard
from bot.web.signin import SignIn

LOOPBACK = ("127.0.0.1", 50_000)
SENTENCE = (
    "This page answers only on the machine it runs on. Set CONSOLE_TOKEN to open it elsewhere "
    "with a token."
)
OWN_HOSTS = ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000", "[::1]"]
FOREIGN_HOSTS = [
    "kaiwa.example.com",
    "localhost.example.com",
    "evil-localhost",
    "127.0.0.1.nip.io",
    "127.0.0.2",
    "[::2]",
    "localhost.",
    "localhost:",
    "localhost:x",
    "localhost:8000@example.com",
    "example.com#localhost",
    "",
]
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


async def behind(scope: Scope, receive: Receive, send: Send) -> None:
    """What is guarded; it says what kind of thing reached it."""
    await PlainTextResponse(scope["type"], headers={"X-Frame-Options": "DENY"})(
        scope, receive, send
    )


def guard(token: str = "", *, trusts_machine: bool = True) -> Guard:
    catalogue = texts.load()
    signin = SignIn(SecretStr(token), SecretStr("secret"), catalogue, "Kaiwa")
    return Guard(
        behind, signin=signin, texts=catalogue, language="en", trusts_machine=trusts_machine
    )


async def ask(
    app: Guard,
    headers: Mapping[str, str] | list[tuple[str, str]],
    *,
    method: str = "GET",
    path: str = "/",
    peer: tuple[str, int] | None = LOOPBACK,
) -> httpx.Response:
    """Ask as a program at ``peer`` that sends exactly these headers; None is a peer on a Unix
    socket."""

    async def from_peer(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "client": peer}, receive, send)

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(from_peer), base_url="http://localhost"
    ) as client:
        return await client.request(method, path, headers=headers)


@pytest.mark.parametrize("host", OWN_HOSTS)
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
async def test_this_machine_is_let_in_under_its_own_names(host: str, peer: str) -> None:
    """Every loopback address and every local name, with any port."""
    response = await ask(guard(), {"Host": host}, peer=(peer, 50_000))
    assert (response.status_code, response.text) == (200, "http")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:8000"},
        {"Origin": "http://LOCALHOST:3000", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        LINK,
    ],
    ids=[
        "own origin",
        "same site, another port",
        "same origin by Fetch",
        "typed address",
        "followed link",
    ],
)
async def test_pages_of_this_machine_are_let_in(headers: dict[str, str]) -> None:
    """A site is a host; a link that somebody follows to the page is no page's request."""
    response = await ask(guard(), {"Host": "localhost:8000"} | headers)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "peer", [("192.168.1.7", 50_000), ("2001:db8::7", 50_000), ("testclient", 1), None]
)
async def test_other_peers_are_refused(peer: tuple[str, int] | None) -> None:
    """Also a Unix socket's: a proxy stands behind it, and the visitor may be anywhere."""
    response = await ask(guard(), {"Host": "localhost"}, peer=peer)
    assert (response.status_code, response.text) == (403, f"{SENTENCE}\n")


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_other_hosts_are_refused(host: str) -> None:
    """A foreign name that leads to this machine is DNS rebinding."""
    assert (await ask(guard(), {"Host": host})).status_code == 403


async def test_two_hosts_are_refused() -> None:
    """Whoever sends two wants one of them to be overlooked."""
    assert (await ask(guard(), [("Host", "localhost"), ("Host", "example.com")])).status_code == 403


@pytest.mark.parametrize(
    "header",
    [
        *(
            "Forwarded",
            "X-Forwarded-For",
            "x-forwarded-proto",
            "X-Forwarded-Host",
            "X-Forwarded-Anything",
            "Via",
        ),
        *(
            "X-Real-IP",
            "CF-Connecting-IP",
            "CF-RAY",
            "True-Client-IP",
            "X-Client-IP",
            "Fastly-Client-IP",
        ),
    ],
)
async def test_what_a_proxy_passes_on_is_refused(header: str) -> None:
    """A proxy on this machine makes every visitor look local."""
    assert (await ask(guard(), {"Host": "localhost", header: "127.0.0.1"})).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://example.com"},
        {"Origin": "http://localhost.example.com"},
        {"Origin": "http://127.0.0.1:8000"},
        {"Origin": "null"},
        {"Origin": "http://[::1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
        LINK | {"Sec-Fetch-Dest": "iframe"},
        LINK | {"Sec-Fetch-Mode": "no-cors"},
        LINK | {"Origin": "http://example.com"},
    ],
)
async def test_pages_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    """A page elsewhere that uses this machine's browser is still elsewhere."""
    assert (await ask(guard(), {"Host": "localhost:8000"} | headers)).status_code == 403


async def test_a_link_cannot_post() -> None:
    """A form on another site that leads here is more than a link."""
    assert (await ask(guard(), {"Host": "localhost"} | LINK, method="POST")).status_code == 403


async def test_a_refusal_speaks_to_its_reader() -> None:
    """Programs of the console get JSON, people their language; both learn which variable to set."""
    japanese = {"Accept-Language": "ja,en;q=0.8", "Host": "example.com"}
    reported = (await ask(guard(), japanese)).text
    assert "CONSOLE_TOKEN を設定してください" in reported
    response = await ask(guard(), {"Host": "example.com"}, path="/console/conversation")
    assert response.json() == {"error": SENTENCE}


async def test_where_a_proxy_is_to_be_expected_nobody_is_local() -> None:
    """nginx sends no header by itself and may name localhost: without a token the page is closed,
    and says why."""
    response = await ask(guard(trusts_machine=False), {"Host": "localhost"})
    assert response.status_code == 403
    assert response.text.startswith("This page is closed until CONSOLE_TOKEN is set")
    signed = {"Host": "localhost", "Authorization": "Bearer token"}
    assert (await ask(guard("token", trusts_machine=False), signed)).status_code == 200


async def test_every_answer_carries_the_browsers_orders() -> None:
    """No scripts but our own, in nobody's frame, and no word to other sites; also on refusals."""
    for host, status in (("localhost", 200), ("example.com", 403)):
        response = await ask(guard(), {"Host": host})
        policy = dict(
            part.split(" ", 1) for part in response.headers["content-security-policy"].split("; ")
        )
        assert response.status_code == status
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'",
        }
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
    assert (await ask(guard(), {"Host": "localhost"})).headers["x-frame-options"] == "DENY"


async def test_nothing_but_http_gets_through() -> None:
    """There is no WebSocket behind the guard, so none is let in; the lifespan is no visitor."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await guard()(
        {"type": "websocket", "client": LOOPBACK, "headers": [(b"host", b"localhost")]},
        receive,
        send,
    )
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": ""}]

    reached: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["type"])

    catalogue = texts.load()
    signin = SignIn(SecretStr(""), SecretStr(""), catalogue, "Kaiwa")
    await Guard(app, signin=signin, texts=catalogue, language="en")(
        {"type": "lifespan"}, receive, send
    )
    assert reached == ["lifespan"]
