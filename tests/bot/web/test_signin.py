"""With CONSOLE_TOKEN the page is open to whoever knows it, and to nobody who guesses."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie

import httpx
import pytest
from pydantic import SecretStr
from starlette.responses import PlainTextResponse

from bot import texts
from bot.http import ADDRESSES, TRIES, TRIES_OF_ALL, WINDOW_S, Throttle
from bot.web.guard import Guard
from bot.web.signin import COOKIE, SignIn

TOKEN = "correct horse battery staple"
HTML = {"Accept": "text/html"}


def guard(token: str = TOKEN, secret: str = "") -> Guard:
    catalogue = texts.load()
    signin = SignIn(SecretStr(token), SecretStr(secret), catalogue, "<Kaiwa>")
    return Guard(PlainTextResponse("inside"), signin=signin, texts=catalogue, language="en")


def browser(app: Guard, *, peer: str = "203.0.113.7", scheme: str = "http") -> httpx.AsyncClient:
    """A visitor from elsewhere; proxies and foreign hosts do not matter any more."""
    transport = httpx.ASGITransport(app, client=(peer, 50_000))
    return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://kaiwa.example.com")


@pytest.fixture
async def visitor() -> AsyncIterator[httpx.AsyncClient]:
    async with browser(guard()) as visitor:
        yield visitor


async def sign_in(visitor: httpx.AsyncClient, token: str = TOKEN, **headers: str) -> httpx.Response:
    return await visitor.post("/signin", data={"token": token}, headers=HTML | headers)


async def test_a_program_brings_the_token(visitor: httpx.AsyncClient) -> None:
    """Metrics are scraped with a bearer token; the scheme's case does not matter."""
    for scheme in ("Bearer", "bearer"):
        response = await visitor.get("/metrics", headers={"Authorization": f"{scheme} {TOKEN}"})
        assert (response.status_code, response.text) == (200, "inside")


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Basic eDp5"}, {"Cookie": f"{COOKIE}={TOKEN}"}]
)
async def test_a_program_without_it_is_told_what_to_bring(
    visitor: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """The answer is one a program understands; the token itself is no cookie."""
    response = await visitor.get("/metrics", headers=headers)
    needed = "An access token is needed: send the value of CONSOLE_TOKEN as Authorization: Bearer …"
    assert (response.status_code, response.json()) == (401, {"error": needed})
    assert response.headers["www-authenticate"] == "Bearer"


async def test_a_wrong_token_is_refused(visitor: httpx.AsyncClient) -> None:
    """Also one that is the beginning of the right one, and one that is no ASCII."""
    for wrong in ("", TOKEN[:-1], "語"):
        response = await visitor.get(
            "/metrics", headers={b"Authorization": f"Bearer {wrong}".encode()}
        )
        assert (response.status_code, response.json()) == (401, {"error": "That is not the token."})


async def test_a_person_finds_a_form(visitor: httpx.AsyncClient) -> None:
    """In the browser's language, with the bot's name, and nothing of the page."""
    response = await visitor.get("/", headers=HTML | {"Accept-Language": "ja"})
    assert response.status_code == 401
    assert response.headers["referrer-policy"] == "same-origin"
    assert '<html lang="ja">' in response.text
    assert "アクセストークン" in response.text
    assert "&lt;Kaiwa&gt;" in response.text
    assert "inside" not in response.text


async def test_what_the_form_looks_like_is_no_secret(visitor: httpx.AsyncClient) -> None:
    """Style and icon are there before anybody has signed in; nothing can be sent there."""
    assert (await visitor.get("/static/style.css")).status_code == 200
    assert (await visitor.post("/static/style.css")).status_code == 401


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("http://localhost/inside", "/inside"),
        ("http://localhost/signin", "/"),
        ("http://localhost//elsewhere.example/x", "/"),
        ("http://localhost/\\elsewhere.example", "/"),
        ("http://[", "/"),
    ],
)
async def test_whoever_signs_in_gets_the_page_that_they_asked_for(
    visitor: httpx.AsyncClient, form: str, page: str
) -> None:
    """One of ours: the form stands in its place."""
    response = await visitor.post("/signin", data={"token": TOKEN}, headers={"Referer": form})
    assert (response.status_code, response.headers["location"]) == (303, page)


async def test_the_right_token_opens_the_page(visitor: httpx.AsyncClient) -> None:
    """The form leaves a cookie that is not the token, and the page is open from then on."""
    response = await sign_in(visitor, f" {TOKEN}\n")
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = SimpleCookie(response.headers["set-cookie"])[COOKIE]
    assert re.fullmatch(r"\d+\.[0-9a-f]{64}", cookie.value)
    assert abs(int(cookie.value.partition(".")[0]) - time.time() - 7 * 24 * 3600) < 60
    attributes = {
        name: cookie[name] for name in ("httponly", "samesite", "path", "secure", "max-age")
    }
    assert attributes == {
        "httponly": True,
        "samesite": "strict",
        "path": "/",
        "secure": "",
        "max-age": "604800",
    }
    assert (await visitor.get("/")).text == "inside"
    again = await visitor.get("/signin")
    assert (again.status_code, again.headers["location"]) == (303, "/")


@pytest.mark.parametrize(
    ("scheme", "headers"),
    [("https", {}), ("http", {"X-Forwarded-Proto": "https"})],
    ids=["TLS here", "TLS at a proxy"],
)
async def test_behind_tls_the_cookie_stays_there(scheme: str, headers: dict[str, str]) -> None:
    """It is never sent in the clear, wherever TLS ends."""
    async with browser(guard(), scheme=scheme) as visitor:
        response = await sign_in(visitor, **headers)
    assert SimpleCookie(response.headers["set-cookie"])[COOKIE]["secure"] is True


async def test_a_wrong_token_brings_the_form_again(visitor: httpx.AsyncClient) -> None:
    """With a word about it, and without a cookie."""
    response = await sign_in(visitor, "wrong")
    assert response.status_code == 401
    assert "That is not the token." in response.text
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"token=" + b"x" * 5000], ids=["empty", "no text", "too long"]
)
async def test_a_strange_form_is_a_wrong_token(visitor: httpx.AsyncClient, body: bytes) -> None:
    """Nothing a stranger posts is more than wrong."""
    assert (await visitor.post("/signin", content=body)).status_code == 401


@pytest.mark.parametrize(
    ("token", "secret", "inside"),
    [(TOKEN, "", True), ("another token", "", False), (TOKEN, "another secret", False)],
    ids=["nothing changed", "another token", "another secret"],
)
async def test_cookies_last_as_long_as_the_secrets(token: str, secret: str, inside: bool) -> None:
    """Every process takes the cookies of every other; a new token or secret signs everybody out."""
    async with browser(guard()) as visitor:
        await sign_in(visitor)
        cookies = visitor.cookies
    async with browser(guard(token, secret)) as visitor:
        visitor.cookies = cookies
        assert (await visitor.get("/")).status_code == (200 if inside else 401)


async def test_a_cookie_cannot_be_made_or_stretched(visitor: httpx.AsyncClient) -> None:
    """Its end is signed, and after it the cookie is worth nothing."""
    await sign_in(visitor)
    expires, signature = visitor.cookies[COOKIE].split(".")
    signin = guard()._signin
    assert signin is not None
    past = str(int(time.time()) - 1)
    for forged in (
        f"{int(expires) + 1}.{signature}",
        f"{past}.{signin._signature(past)}",
        "",
        ".",
        "語",
    ):
        response = await visitor.get("/", headers={b"Cookie": f"{COOKIE}={forged}".encode()})
        assert response.status_code == 401


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://example.com"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
)
async def test_another_site_cannot_post(
    visitor: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    """Neither with a cookie nor with the token in a form; reading is the cookie's and the browser's
    business."""
    assert (await sign_in(visitor, **headers)).status_code == 403
    await sign_in(visitor)
    response = await visitor.post("/console/pipeline/messages", headers=headers)
    assert response.status_code == 403
    assert response.json()["error"].startswith("This request came from another site")
    assert (
        await visitor.post("/", headers={"Origin": "https://kaiwa.example.com"})
    ).text == "inside"


async def test_signing_out_takes_the_cookie_back(visitor: httpx.AsyncClient) -> None:
    """From then on the browser is a stranger; another site cannot do it, and a link cannot."""
    await sign_in(visitor)
    assert (
        await visitor.post("/signout", headers={"Origin": "https://example.com"})
    ).status_code == 403
    assert (await visitor.get("/signout")).text == "inside"
    response = await visitor.post("/signout", headers={"Origin": "https://kaiwa.example.com"})
    assert response.status_code == 204
    assert SimpleCookie(response.headers["set-cookie"])[COOKIE]["max-age"] == "0"
    assert (await visitor.get("/")).status_code == 401
    assert (await visitor.post("/signout")).status_code == 401


async def test_wrong_tries_are_put_off_and_the_right_token_never() -> None:
    """After ten wrong tries an address must wait, by form and bearer alike; the right token always
    works."""
    app = guard()
    async with browser(app) as guesser, browser(app, peer="203.0.113.8") as other:
        for _ in range(TRIES // 2):
            assert (await sign_in(guesser, "wrong")).status_code == 401
            assert (
                await guesser.get("/", headers={"Authorization": "Bearer wrong"})
            ).status_code == 401
        refused = await sign_in(guesser, "wrong")
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= WINDOW_S + 1
        assert "Too many wrong tries." in refused.text
        assert (
            await guesser.get("/", headers={"Authorization": "Bearer wrong"})
        ).status_code == 429
        assert (
            await guesser.get("/", headers={"Authorization": f"Bearer {TOKEN}"})
        ).status_code == 200
        assert (await sign_in(guesser)).status_code == 303
        assert (await sign_in(other, "wrong")).status_code == 401


async def test_whoever_has_many_addresses_is_put_off_too() -> None:
    """A ceiling holds for all together; one who only claims many addresses has one."""
    app = guard()
    bearer = {"Authorization": "Bearer wrong"}
    for number in range(TRIES_OF_ALL):
        async with browser(app, peer=f"2001:db8::{number:x}") as guesser:
            assert (await guesser.get("/", headers=bearer)).status_code == 401
    async with browser(app, peer="192.0.2.1") as next_one:
        assert (await next_one.get("/", headers=bearer)).status_code == 429
        assert (await sign_in(next_one)).status_code == 303
    async with browser(guard()) as liar:
        claims = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(2 * TRIES)]
        reported = [(await liar.get("/", headers=bearer | claim)).status_code for claim in claims]
    assert reported == [401] * TRIES + [429] * TRIES


async def test_a_peer_without_an_address_can_sign_in() -> None:
    """A proxy on a Unix socket has none; all of its visitors count together."""
    # httpx knows no Unix sockets
    transport = httpx.ASGITransport(guard(), client=None)  # type: ignore[arg-type]
    async with httpx.AsyncClient(
        transport=transport, base_url="https://kaiwa.example.com"
    ) as visitor:
        assert (await sign_in(visitor)).status_code == 303


def test_a_wait_ends_with_the_oldest_try() -> None:
    """Tries count for a minute, each for its own."""
    clock = [0.0]
    throttle = Throttle(lambda: clock[0])
    for second in range(TRIES):
        clock[0] = second
        assert throttle.wait_s("a") == 0
        throttle.wrong("a")
    assert throttle.wait_s("a") == WINDOW_S - (TRIES - 1)
    clock[0] = WINDOW_S
    assert throttle.wait_s("a") == 0
    throttle.wrong("a")
    assert throttle.wait_s("a") == 1


def test_only_so_many_addresses_are_remembered() -> None:
    """Whoever has many addresses cannot fill the memory; the one that tried longest ago is
    forgotten."""
    clock = [0.0]
    throttle = Throttle(lambda: clock[0])
    for _ in range(TRIES):
        throttle.wrong("first")
        throttle.wrong("second")
    throttle.wrong("first")
    for number in range(ADDRESSES - 1):
        throttle.wrong(f"address {number}")
    assert len(throttle._wrong) == ADDRESSES
    assert "second" not in throttle._wrong
    assert throttle.wait_s("second") == WINDOW_S
    clock[0] = WINDOW_S
    assert throttle.wait_s("second") == 0
