"""A stand-in for Wikipedia's API, every language on one server; it refuses what the real one
refuses or only warns of.

Its form: https://www.mediawiki.org/wiki/API:Search,
https://www.mediawiki.org/wiki/Extension:TextExtracts,
https://www.mediawiki.org/wiki/API:Errors_and_warnings and
https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy

As a proxy of a client it answers for every host, by the language in the host's name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from tests.fakes.names import NAMES
from tests.fakes.sources import HTML, NOT_FOUND, SourceAnswer, SourceFake, SourceRequest

KNOWN = set(NAMES["wikipedia"]["query"])
PROPERTIES = {"extracts", "description", "info", "pageprops", "revisions"}
RANGES = {"exchars": (1, 1200), "exlimit": (1, 20), "gsrlimit": (1, 500)}
UNDESCRIPTIVE = ("python-", "httpx", "curl", "Mozilla")


@dataclass(frozen=True, slots=True)
class WikiPage:
    """An article: the text before its first section, and the sections."""

    title: str
    intro: str
    sections: str = ""
    description: str = ""
    is_disambiguation: bool = False


class WikipediaFake(SourceFake):
    """The server; a search finds the pages that hold all its words, those added first being the
    best."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, list[WikiPage]] = {}

    def page(self, language: str, title: str, intro: str, **fields: Any) -> None:
        """Know an article."""
        self.pages.setdefault(language, []).append(WikiPage(title, intro, **fields))

    def answer(self, request: SourceRequest) -> SourceAnswer:
        agent = request.headers.get("user-agent", "")
        if not agent or agent.startswith(UNDESCRIPTIVE):
            return SourceAnswer(403, b"Please set a user-agent and respect our robot policy", HTML)
        if urlsplit(request.path).path != "/w/api.php":
            return NOT_FOUND
        if code := _complaint(request.params):
            return error(code)
        language = request.headers["host"].partition(".")[0]
        pages = self.pages.get(language if language in self.pages else "", [])
        return _json({"batchcomplete": True} | self._found(language, pages, request.params))

    def _found(
        self, language: str, pages: list[WikiPage], params: dict[str, str]
    ) -> dict[str, Any]:
        numbered = [
            (len(pages) - place, page) for place, page in enumerate(pages)
        ]  # ids in another order than ranks
        if "pageids" in params:
            hits = [(number, page) for number, page in numbered if str(number) == params["pageids"]]
            shown = [_page(number, page, language, params) for number, page in hits]
        else:
            words = params["gsrsearch"].casefold().split()
            hits = [
                hit for hit in numbered if all(word in str(hit[1]).casefold() for word in words)
            ]
            hits = hits[: int(params["gsrlimit"])]
            ranked = [
                _page(*hit, language, params) | {"index": rank} for rank, hit in enumerate(hits, 1)
            ]
            shown = sorted(ranked, key=lambda page: int(page["pageid"]))
        return {"query": {"pages": shown}} if shown else {}


def error(code: str, info: str = "Something at 10.1.2.3") -> SourceAnswer:
    """A refusal; its status is 200."""
    return _json(
        {
            "error": {"code": code, "info": info, "docref": "See the documentation"},
            "servedby": "mw1",
        }
    )


def _json(answer: dict[str, Any]) -> SourceAnswer:
    return SourceAnswer(body=json.dumps(answer, ensure_ascii=False).encode())


def _complaint(params: dict[str, str]) -> str:
    """The code of the first error in a request; empty for a good one."""
    if unknown := sorted(set(params) - KNOWN):
        return f"unrecognized_{unknown[0]}"
    fixed = {"action": "query", "format": "json", "formatversion": "2"}
    for name, value in fixed.items():
        if params.get(name) != value:
            return f"badvalue_{name}"
    if ("pageids" in params) == (params.get("generator") == "search"):
        return "invalidparammix"
    if "generator" in params and not params.get("gsrsearch", "").strip():
        return "missingparam"
    if set(params["prop"].split("|")) - PROPERTIES:
        return "badvalue_prop"
    for name, (least, most) in RANGES.items():
        if name in params and not least <= int(params[name]) <= most:
            return "badinteger"
    if "exintro" not in params and params.get("exlimit") != "1":
        return "toomanyvalues"
    return ""


def _page(number: int, page: WikiPage, language: str, params: dict[str, str]) -> dict[str, Any]:
    text = page.intro if "exintro" in params else f"{page.intro}\n\n{page.sections}"
    most = int(params["exchars"])
    reported: dict[str, Any] = {"pageid": number, "ns": 0, "title": page.title}
    reported["extract"] = text if len(text) <= most else f"{text[:most]}..."
    properties = params["prop"].split("|")
    if "description" in properties and page.description:
        reported |= {"description": page.description, "descriptionsource": "central"}
    if "info" in properties:
        address = f"https://{language}.wikipedia.org/wiki/{quote(page.title.replace(' ', '_'))}"
        reported |= {
            "pagelanguage": language,
            "touched": "2026-11-20T01:02:03Z",
            "fullurl": address,
        }
    if "pageprops" in properties and page.is_disambiguation:
        reported["pageprops"] = {"disambiguation": ""}
    if "revisions" in properties:
        reported["revisions"] = [{"timestamp": "2026-11-19T10:20:30Z"}]
    return reported
