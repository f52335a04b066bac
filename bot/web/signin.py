"""Sign-in with the console's token, as a bearer token or in a form that sets a cookie, and
sign-out."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from html import escape
from importlib.resources import files
from string import Template
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from bot.http import Throttle, read_body
from bot.texts import Texts

COOKIE = "kaiwa_console"
COOKIE_S = 7 * 24 * 3600
MAX_FORM = 4096
PAGE = re.compile(r"/[a-z]{0,32}")  # no other site's address, whatever a browser makes of it


class SignIn:
    """Checks tokens and cookies.

    Args:
        token: CONSOLE_TOKEN, or the one generated in its place; empty switches sign-in off.
        secret: SECRET_KEY, part of the cookies' key: a cookie does not help in guessing a short
            token.
    """

    def __init__(self, token: SecretStr, secret: SecretStr, texts: Texts, bot_name: str) -> None:
        self._token = token.get_secret_value().encode()
        self._key = hashlib.sha256(
            b"console\0" + secret.get_secret_value().encode() + b"\0" + self._token
        ).digest()
        self._texts = texts
        self._bot_name = bot_name
        self._form = Template((files(__package__) / "static" / "signin.html").read_text("utf-8"))
        self._throttle = Throttle()

    @property
    def is_on(self) -> bool:
        return bool(self._token)

    def refusal(self, request: Request, language: str) -> Response | None:
        """None where the visitor is signed in, else the form; programs get JSON instead of the
        form."""
        if self._valid_cookie(request.cookies.get(COOKIE, "")):
            return None
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._tried(request, given.strip(), language)
        return self._ask(request, 401, "", language)

    async def enter(self, request: Request, language: str) -> Response:
        """Answer the form: a right token gets a cookie, a wrong one the form again."""
        body = await read_body(request, MAX_FORM)
        fields = parse_qs((body or b"").decode("utf-8", "replace"))
        if (
            refused := self._tried(request, fields.get("token", [""])[0].strip(), language)
        ) is not None:
            return refused
        page = RedirectResponse(_asked_page(request), 303)
        return _with_cookie(page, request, self._cookie(), COOKIE_S)

    def leave(self, request: Request) -> Response:
        """Delete the browser's cookie."""
        return _with_cookie(Response(status_code=204), request, "", 0)

    def _tried(self, request: Request, given: str, language: str) -> Response | None:
        """None for the right token, even after too many wrong ones: nobody can lock the operator
        out."""
        if hmac.compare_digest(given.encode(), self._token):
            return None
        address = request.client.host if request.client else ""
        if (wait_s := self._throttle.wait_s(address)) > 0:
            response = self._ask(request, 429, "too_many", language)
            response.headers["Retry-After"] = str(int(wait_s) + 1)
            return response
        self._throttle.wrong(address)
        return self._ask(request, 401, "wrong", language)

    def _ask(self, request: Request, status: int, complaint: str, language: str) -> Response:
        words = self._texts.table("signin", language)
        problem = words.get(complaint, "")
        headers = {"Cache-Control": "no-store", "WWW-Authenticate": "Bearer"}
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": problem or words["needed"]}, status, headers)
        fields = {name: escape(text) for name, text in words.items()}
        page = self._form.substitute(
            fields, language=language, bot_name=escape(self._bot_name), problem=escape(problem)
        )
        # With no-referrer a browser would send the form with "Origin: null".
        return HTMLResponse(page, status, headers | {"Referrer-Policy": "same-origin"})

    def _cookie(self) -> str:
        expires = int(time.time()) + COOKIE_S
        return f"{expires}.{self._signature(str(expires))}"

    def _valid_cookie(self, cookie: str) -> bool:
        expires, _, signature = cookie.partition(".")
        genuine = hmac.compare_digest(signature.encode(), self._signature(expires).encode())
        return genuine and int(expires) > time.time()

    def _signature(self, expires: str) -> str:
        return hmac.new(self._key, expires.encode(), hashlib.sha256).hexdigest()


def _asked_page(request: Request) -> str:
    """The page of ours in whose place the form stood."""
    try:
        path = urlsplit(request.headers.get("referer", "")).path
    except ValueError:
        path = ""
    return path if PAGE.fullmatch(path) and path != "/signin" else "/"


def _with_cookie(response: Response, request: Request, cookie: str, seconds: int) -> Response:
    # A visitor can forge this header, but only the visitor's own cookie depends on it.
    secure = "https" in (
        request.url.scheme,
        request.headers.get("x-forwarded-proto", "").partition(",")[0].strip(),
    )
    response.set_cookie(
        COOKIE, cookie, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict"
    )
    return response
