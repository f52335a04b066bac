"""The page and its files are served from the package, and browsers ask again only for what has
changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from importlib.resources import files

import httpx
import pytest
from starlette.applications import Starlette

from bot import texts
from bot.web.page import PageInfo, page_routes

INFO = PageInfo("<Kai & wa>", "gemini-flash-latest", demo=False, language="ja")
STATIC = files("bot.web") / "static"
# markdown-it 15.0.3, dist/browser/markdown-it.esm.min.mjs
LIBRARY = "markdown-it.js"
LIBRARY_SHA256 = "d5432491790141da046b1197353705db03264f40b5727f3b4b591f5aba193e30"
# What else others have made: the file's digest, and how its licence begins. The last line of
# temml.js is ours: it exports the library.
OTHERS = {
    # @highlightjs/cdn-assets 11.12.0, es/highlight.min.js
    "highlight": (
        "1ed8fc5256b738b8875b74e4d3f0754f60d6411fb034d618dfbc4e6e6c9999d7",
        "BSD 3-Clause License",
    ),
    # temml 0.13.5, dist/temml.min.js
    "temml": (
        "21f185ac9b825d80b654d300404fb27f0fa9bd0f95657a811072570cdbc34414",
        "The MIT License (MIT)",
    ),
}
SCRIPTS = sorted(
    file.name
    for file in STATIC.iterdir()
    if file.name.endswith(".js") and file.name not in {LIBRARY, *(f"{name}.js" for name in OTHERS)}
)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = Starlette(routes=page_routes(INFO, texts.load()))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost"
    ) as client:
        yield client


async def test_the_page_carries_the_bots_name_and_language(client: httpx.AsyncClient) -> None:
    """Also before its scripts run; a name is text, whatever it holds."""
    response = await client.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>&lt;Kai &amp; wa&gt;</title>" in response.text
    assert '<html lang="ja">' in response.text
    assert (
        "This page needs JavaScript. このページの表示には JavaScript が必要です。" in response.text
    )


async def test_the_page_is_told_about_the_bot(client: httpx.AsyncClient) -> None:
    """Who answers, and whether it is the demo."""
    assert (await client.get("/console/info")).json() == {
        "bot_name": "<Kai & wa>",
        "model": "gemini-flash-latest",
        "demo": False,
        "language": "ja",
        "signs_out": False,
        "most_file_bytes": 0,
        "starters": {},
        "commands": [],
    }


async def test_the_page_gets_its_words_in_every_language(client: httpx.AsyncClient) -> None:
    """From the catalogue, and from nowhere else."""
    words = texts.load()
    assert (await client.get("/static/texts.json")).json() == {
        "en": words.table("page", "en"),
        "ja": words.table("page", "ja"),
    }


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
async def test_files_come_as_they_are(
    client: httpx.AsyncClient, name: str, media_type: str
) -> None:
    """A module with the wrong media type would not run."""
    response = await client.get(f"/static/{name}")
    assert (response.headers["content-type"], response.content) == (
        media_type,
        (STATIC / name).read_bytes(),
    )


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/texts.json", "/console/info"])
async def test_what_has_not_changed_is_not_sent_again(client: httpx.AsyncClient, path: str) -> None:
    """Browsers ask each time, so that a new version is there at once, and mostly get no body."""
    first = await client.get(path)
    assert first.headers["cache-control"] == "no-cache"
    again = await client.get(path, headers={"If-None-Match": f'W/{first.headers["etag"]}, "other"'})
    assert (again.status_code, again.content, again.headers["etag"]) == (
        304,
        b"",
        first.headers["etag"],
    )
    assert (await client.get(path, headers={"If-None-Match": '"other"'})).status_code == 200


@pytest.mark.parametrize(
    "name", ["signin.html", "index.html", "nothing.js", "../page.py", "%2e%2e/page.py"]
)
async def test_nothing_else_is_served(client: httpx.AsyncClient, name: str) -> None:
    """Templates and code stay inside."""
    assert (await client.get(f"/static/{name}")).status_code == 404


def test_every_word_the_page_uses_is_in_the_catalogue() -> None:
    """And the catalogue holds none that nobody uses."""
    source = "".join((STATIC / name).read_text("utf-8") for name in [*SCRIPTS, "index.html"])
    used = set(re.findall(r'(?:\bsay\(|data-(?:text|label|placeholder)=)"(\w+)"', source))
    used |= set(re.findall(r"words\.other\]\.(\w+)", source))
    used |= {"noscript", "tool_failed", "tool_rejected"}  # by page.py, and by a state's name
    used |= {"still_trying", "thinking"}  # by how long it takes
    used |= {"rename_conversation", "delete_conversation"}  # by what is done
    used |= {"record", "record_stop"}  # by what the button does
    used |= set(re.findall(r'"(no_result|tool_running|file_too_large|too_many_files)"', source))
    assert used == set(texts.load().table("page", "en"))


@pytest.mark.parametrize(
    "name",
    [
        *SCRIPTS,
        LIBRARY,
        "index.html",
        "signin.html",
        "style.css",
        "thread.css",
        "question.css",
        "letters.css",
        "drawer.css",
        "signin.css",
    ],
)
def test_the_page_needs_nothing_from_elsewhere(name: str) -> None:
    """No address but our own and the namespace of SVG, no inline script or style, nothing that
    parses HTML."""
    source = (STATIC / name).read_text("utf-8")
    assert re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", source) == []
    assert (
        re.findall(
            (
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=|<script>| "
                r"on\w+="
            ),
            source,
        )
        == []
    )
    assert name == LIBRARY or len(source.splitlines()) <= 500


def test_the_library_is_as_it_was_published() -> None:
    """With its licence beside it, and those of the libraries that are bundled in it."""
    assert hashlib.sha256((STATIC / LIBRARY).read_bytes()).hexdigest() == LIBRARY_SHA256
    licence = (STATIC / "markdown-it.LICENSE").read_text("utf-8")
    assert licence.startswith("Copyright (c) 2014 Vitaly Puzrin, Alex Kocharin.")
    bundled = set(re.findall(r"node_modules/([^/]+)/", (STATIC / LIBRARY).read_text("utf-8")))
    assert bundled == {"entities", "mdurl"}
    assert all(f"The library holds parts of {name}:" in licence for name in bundled)


@pytest.mark.parametrize("name", OTHERS)
def test_other_libraries_are_as_they_were_published(name: str) -> None:
    """They come when they are needed; no browser reads HTML of theirs."""
    digest, licence = OTHERS[name]
    assert hashlib.sha256((STATIC / f"{name}.js").read_bytes()).hexdigest() == digest
    assert (STATIC / f"{name}.LICENSE").read_text("utf-8").startswith(licence)
    importing = re.compile(rf'(.?)import\("\./{name}\.js"\)|from "\./{name}\.js"')
    found = [importing.findall((STATIC / script).read_text("utf-8")) for script in SCRIPTS]
    assert [one for one in found if one] == [[" "]]
