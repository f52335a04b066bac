"""The page: HTML, style and scripts from the package, read once and served with ETags."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from string import Template

from msgspec import Struct
from msgspec.json import encode
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.texts import LANGUAGES, Texts

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class PageInfo(Struct, frozen=True):
    """What the page shows of this bot.

    Attributes:
        demo: whether the demo model answers.
        language: of the page, unless the browser asks for another one that the catalogue has.
        most_file_bytes: of a file that is uploaded.
        signs_out: whether visitors have signed in, so that the page offers to sign out.
    """

    bot_name: str
    model: str
    demo: bool
    language: str
    signs_out: bool = False
    most_file_bytes: int = 0


def page_routes(info: PageInfo, texts: Texts) -> list[BaseRoute]:
    """``/``, its files, its texts and ``/console/info``; to be mounted before the console's own
    routes."""
    static = files(__package__) / "static"
    index = Template((static / "index.html").read_text("utf-8"))
    page = index.substitute(
        language=info.language,
        bot_name=escape(info.bot_name),
        noscript=" ".join(escape(texts.get("page.noscript", language)) for language in LANGUAGES),
    )
    catalogue = {language: texts.table("page", language) for language in LANGUAGES}
    served = {
        "/": _serving(page.encode(), "text/html"),
        "/static/texts.json": _serving(encode(catalogue), "application/json"),
        "/console/info": _serving(encode(info), "application/json"),
    }
    for file in static.iterdir():
        if media_type := MEDIA_TYPES.get(file.name.rpartition(".")[2]):
            served[f"/static/{file.name}"] = _serving(file.read_bytes(), media_type)
    return [Route(path, endpoint) for path, endpoint in served.items()]


def _serving(body: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:20]}"', "Cache-Control": "no-cache"}

    async def serve(request: Request) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media_type)

    return serve
