"""The page: HTML, style and scripts from the package, read once and served with ETags."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from msgspec import Struct
from msgspec.json import encode
from starlette.routing import BaseRoute, Route

from bot.http import MEDIA_TYPES, serving
from bot.texts import LANGUAGES, Texts


class PageCommand(Struct, frozen=True):
    """A command, by languages.

    Attributes:
        more: words of the person's follow it.
    """

    words: dict[str, tuple[str, ...]]
    about: dict[str, str]
    more: bool = False


class PageInfo(Struct, frozen=True):
    """What the page shows of this bot.

    Attributes:
        starters: questions to begin with, by language.
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
    starters: dict[str, tuple[str, ...]] = {}
    commands: tuple[PageCommand, ...] = ()


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
        "/": serving(page.encode(), "text/html"),
        "/static/texts.json": serving(encode(catalogue), "application/json"),
        "/console/info": serving(encode(info), "application/json"),
    }
    for file in static.iterdir():
        if media_type := MEDIA_TYPES.get(file.name.rpartition(".")[2]):
            served[f"/static/{file.name}"] = serving(file.read_bytes(), media_type)
    return [Route(path, endpoint) for path, endpoint in served.items()]
