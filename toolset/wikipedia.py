"""``wikipedia``: the beginning of an article, in the user's language or in English."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field

from toolset.mediawiki.client import ENGLISH, Article, WikiClient, WikiUrl, wiki_language
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.cache import SharedCache
from toolset.web.json_values import filled

TIMEOUT_S = 3.0
CACHE_S = 3600
CACHE_SIZE = 256  # searches, and texts
LICENCE = "CC BY-SA 4.0, by the authors of the Wikipedia article at the url"


class WikipediaConfig(BaseModel):
    """Where Wikipedia is, and whom Wikimedia may write to."""

    wikipedia_base_url: WikiUrl = "https://{language}.wikipedia.org"
    wikipedia_contact: Annotated[str, Field(max_length=200, pattern=r"^[ -'*-~]*$")] = (
        ""  # of a header: no brackets
    )


class Wikipedia(Tool):
    """Searches in the user's language, then in English where nothing is found."""

    name = "wikipedia"
    description = (
        "Beginning of the Wikipedia article that fits a few words, in the user's language or "
        "English. Use it for people, places, works, events, companies and terms, when facts must "
        "be right. If it is `ambiguous`, or not what was meant, ask, or call again with a title "
        "from `summary` or `others`. Give the `url`."
    )
    risk = "low"
    public = True
    titles = words(en="Wikipedia", ja="ウィキペディア")
    timeout_s = TIMEOUT_S
    commands = ("wikipedia", "ウィキペディア")
    foreign = True
    Config = WikipediaConfig

    def __init__(self, wiki: WikiClient) -> None:
        self._wiki = wiki
        self._searches: SharedCache[list[Article]] = SharedCache(CACHE_S, CACHE_SIZE)
        self._texts: SharedCache[str] = SharedCache(CACHE_S, CACHE_SIZE)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: WikipediaConfig) -> Wikipedia:
        """Use the service of ``config`` through ``http``."""
        return cls(WikiClient(http, config.wikipedia_base_url, config.wikipedia_contact, TIMEOUT_S))

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Find ``query``.

        Raises:
            ToolError: no such article, or no answer in time.
        """
        words = _words(arguments["query"])
        language = wiki_language(context.locale)
        found = await self._search(language, words)
        if not found and language != ENGLISH and self._wiki.has_languages:
            language = ENGLISH
            found = await self._search(language, words)
        if not found:
            raise ToolError(
                f"no article found for {words}: use other or fewer words, or the title in English"
            )
        chosen = next(
            (article for article in found if _folded(article.title) == _folded(words)), found[0]
        )
        summary = chosen.beginning
        if chosen.is_disambiguation or not summary:  # before its first section a list has no text
            key = language, chosen.page_id
            summary = (
                await self._texts.get(key, lambda: self._wiki.text(*key)) or summary or chosen.title
            )
        return _result(chosen, summary, [article for article in found if article is not chosen])

    async def _search(self, language: str, words: str) -> list[Article]:
        return await self._searches.get(
            (language, _folded(words)), lambda: self._wiki.search(language, words)
        )


def _words(query: str) -> str:
    """The query with single spaces and without invisible characters.

    Raises:
        ToolError: nothing is left to search for.
    """
    letters = list(query)
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = " "
    words = " ".join("".join(letters).split())
    if not any(map(str.isalnum, words)):
        raise ToolError("invalid parameters: query: write a title, or a few words of one")
    return words


def _result(article: Article, summary: str, others: list[Article]) -> dict[str, Any]:
    near = [filled({"title": one.title, "description": one.description}) for one in others]
    result = {
        "title": article.title,
        "description": article.description,
        "ambiguous": article.is_disambiguation,
        "summary": summary,
        "language": article.language,
        "last_edited": article.edited,
        "url": article.url,
        "source": "Wikipedia",
        "licence": LICENCE,
        "others": near,
    }
    return filled(result)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
