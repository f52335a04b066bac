"""Client of Wikipedia: search, and the beginning of an article as plain text.

https://www.mediawiki.org/wiki/API:Search and https://www.mediawiki.org/wiki/Extension:TextExtracts
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

import httpx
from pydantic import AfterValidator

from toolset.tool import ToolError
from toolset.web.json_values import as_list, as_object, entries
from toolset.web.source import Source, base_url
from toolset.web.text import line, web_address

API = "/w/api.php"
BODY_CAP = 256 * 1024  # bytes; five beginnings of 1200 characters have 30 KiB
FOUND = 5  # articles of a search
TEXT_CAP = 1200  # characters of an article, the most the service gives
LINE_CAP = 300  # of a title or a description
URL_CAP = 2000
CODE = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,39}")
RATE_LIMITED = frozenset({"maxlag", "ratelimited"})

QUERY = {"action": "query", "format": "json", "formatversion": "2"}
TEXT = {"explaintext": "1", "exsectionformat": "plain", "exchars": str(TEXT_CAP)}


@dataclass(frozen=True, slots=True)
class Article:
    """An article as a search finds it; texts are empty where unknown.

    Attributes:
        beginning: its text before the first section.
        edited: date of its newest version.
    """

    page_id: int
    title: str
    description: str
    beginning: str
    url: str
    language: str
    edited: str
    is_disambiguation: bool


class WikiClient:
    """A client of all languages.

    Args:
        address: with or without a place for the language; its host is the operator's choice.
        contact: the operator's, which Wikimedia asks for; may be empty.
            https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy
    """

    def __init__(
        self, http: httpx.AsyncClient, address: str, contact: str, timeout_s: float
    ) -> None:
        about = "; ".join(["self-hosted chat assistant", *([contact] if contact else [])])
        self._headers = {"User-Agent": f"Kaiwa ({about}) httpx/{httpx.__version__}"}
        self._http = http
        self._address = address
        self._timeout_s = timeout_s
        self.has_languages = LANGUAGE in address

    async def search(self, language: str, words: str) -> list[Article]:
        """What the Wikipedia of a language has, best first.

        Raises:
            ToolError: one text per kind of failure.
        """
        properties = {
            "prop": "extracts|description|info|pageprops|revisions",
            "exintro": "1",
            "exlimit": str(FOUND),
            "inprop": "url",
            "ppprop": "disambiguation",
            "rvprop": "timestamp",
        }
        plain = " ".join(
            words.replace(":", " ").split()
        )  # a colon would make words operators of the search
        search = {
            "generator": "search",
            "gsrsearch": plain,
            "gsrnamespace": "0",
            "gsrlimit": str(FOUND),
        }
        pages = await self._pages(language, properties | TEXT | search)
        ordered = sorted(pages, key=lambda page: _integer(page.get("index")))
        return [article for page in ordered[:FOUND] if (article := _article(page, language))]

    async def text(self, language: str, page_id: int) -> str:
        """The beginning of an article and its sections.

        Raises:
            ToolError: one text per kind of failure.
        """
        pages = await self._pages(
            language, {"prop": "extracts", "pageids": str(page_id), "exlimit": "1"} | TEXT
        )
        return _beginning(pages[0]) if pages else ""

    async def _pages(self, language: str, params: dict[str, str]) -> list[dict[str, Any]]:
        source = Source(
            self._http, self._address.replace(LANGUAGE, language), self._timeout_s, BODY_CAP
        )
        answer = await source.get_json(API, QUERY | params, self._headers)
        if not isinstance(answer, dict) or not ("query" in answer or "batchcomplete" in answer):
            raise ToolError(_refusal(answer))
        return entries(as_object(answer.get("query")).get("pages"))


def _refusal(answer: object) -> str:
    """The reason in an answer without articles; the service's own words are left out."""
    code = as_object(as_object(answer).get("error")).get("code")
    if not isinstance(code, str) or not CODE.fullmatch(code):
        return "API request failed: the answer is not one of a Wikipedia"
    hint = " (too many requests, try again in some minutes)" if code in RATE_LIMITED else ""
    return f"API error: {code}{hint}"


def _article(page: dict[str, Any], language: str) -> Article | None:
    title, page_id = line(page.get("title"), LINE_CAP), _integer(page.get("pageid"))
    if not title or page_id <= 0:
        return None
    newest = next(iter(as_list(page.get("revisions"))), None)
    own_language = line(page.get("pagelanguage"))
    code = own_language if CODE.fullmatch(own_language) else language
    return Article(
        page_id=page_id,
        title=title,
        description=line(page.get("description"), LINE_CAP),
        beginning=_beginning(page),
        url=web_address(page.get("fullurl"), URL_CAP)
        or f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}",
        language=code,
        edited=line(as_object(newest).get("timestamp"), 10),
        is_disambiguation="disambiguation" in as_object(page.get("pageprops")),
    )


def _beginning(page: dict[str, Any]) -> str:
    """The text of a page, of which the service may give somewhat more than was asked for."""
    text = page.get("extract")
    return text[: TEXT_CAP + LINE_CAP].strip() if isinstance(text, str) else ""


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


LANGUAGE = "{language}"  # its place in the address
ENGLISH = "en"

# Wikipedias with more than 100,000 articles, by https://meta.wikimedia.org/wiki/List_of_Wikipedias:
# a host is made of these codes alone, so that no locale, which a device tells, can name another
# one.
CODES = (
    "af ar arz ast az be bg bn ca ce ceb cs cy da de el en eo es et eu fa fi fr gl he hi hr "
    "hu hy id it ja ka kk ko la lt lv mk ml ms my nl nn no pl pt ro ru sh simple sk sl sr sv "
    "ta te tg th tr tt uk ur uz vi war zh"
)
LANGUAGES = frozenset(CODES.split())
OTHER_CODES = {"nb": "no", "in": "id", "iw": "he"}  # of locales


def _wiki_url(value: str) -> str:
    address = base_url(value.replace(LANGUAGE, ENGLISH, 1))
    if not set("{}").isdisjoint(address):
        raise ValueError(f"{LANGUAGE} may stand in it once, and no other braces")
    return value.rstrip("/")


WikiUrl = Annotated[str, AfterValidator(_wiki_url)]  # with or without a place for the language


def wiki_language(locale: str) -> str:
    """The code of the Wikipedia in the user's language; English where there is none."""
    primary = locale.replace("_", "-").partition("-")[0].lower()
    code = OTHER_CODES.get(primary, primary)
    return code if code in LANGUAGES else ENGLISH
