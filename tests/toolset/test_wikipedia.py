"""``wikipedia``: the beginning of an article with its link and licence, or an error the model
understands."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from tests.fakes.sources import SourceAnswer
from tests.fakes.wikipedia import WikipediaFake, error
from tests.toolset.contexts import context, error_of, http_client, response_of
from toolset.tool import ValidatedTool, read_schemas
from toolset.wikipedia import Wikipedia, WikipediaConfig

LICENCE = "CC BY-SA 4.0, by the authors of the Wikipedia article at the url"
MANY_HOSTS = (
    "http://{language}.wiki.example"  # what is sent there goes through the stand-in as a proxy
)


@pytest.fixture
async def wiki() -> AsyncIterator[WikipediaFake]:
    """Wikipedia with a few articles."""
    with WikipediaFake().served() as fake:
        fake.page("en", "Mount Fuji", "Mount Fuji is a volcano.", description="Volcano in Japan")
        fake.page("en", "Fujifilm", "Fujifilm makes films, named after Mount Fuji.")
        fake.page("ja", "富士山", "富士山は日本の山である。", description="日本の山")
        yield fake


@pytest.fixture
async def wikipedia(wiki: WikipediaFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, with a host for each language."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(verify=tls, proxy=wiki.base_url) as http:
        yield tool(http, wikipedia_base_url=MANY_HOSTS)


def tool(http: httpx.AsyncClient, **settings: str) -> ValidatedTool:
    """The tool with an operator's settings."""
    return ValidatedTool(
        Wikipedia.create(http, WikipediaConfig(**settings)), *read_schemas("wikipedia")
    )


async def article(wikipedia: ValidatedTool, query: str, locale: str = "en") -> dict[str, Any]:
    """A result; an error fails the test."""
    return await response_of(wikipedia, locale, query=query)


async def refusal(wikipedia: ValidatedTool, query: str, locale: str = "en") -> str:
    """The text of an error."""
    return await error_of(wikipedia, locale, query=query)


async def test_an_article_comes_with_its_link_and_licence(wikipedia: ValidatedTool) -> None:
    """And with what else fits the words."""
    assert await article(wikipedia, "mount  fuji") == {
        "title": "Mount Fuji",
        "description": "Volcano in Japan",
        "summary": "Mount Fuji is a volcano.",
        "language": "en",
        "last_edited": "2026-11-19",
        "url": "https://en.wikipedia.org/wiki/Mount_Fuji",
        "source": "Wikipedia",
        "licence": LICENCE,
        "others": [{"title": "Fujifilm"}],
    }


async def test_the_exact_title_comes_before_the_best_hit(
    wiki: WikipediaFake, wikipedia: ValidatedTool
) -> None:
    """Other hits keep their order."""
    wiki.page("en", "Fuji", "Fuji is a name, as in Mount Fuji.")
    reported = await article(wikipedia, "fuji")
    assert (reported["title"], [other["title"] for other in reported["others"]]) == (
        "Fuji",
        ["Mount Fuji", "Fujifilm"],
    )
    assert (await article(wikipedia, "a volcano"))["title"] == "Mount Fuji"


@pytest.mark.parametrize(
    ("locale", "host"),
    [
        ("ja-JP", "ja.wiki.example"),
        ("ja", "ja.wiki.example"),
        ("EN_us", "en.wiki.example"),
        ("nb-NO", "no.wiki.example"),
        ("", "en.wiki.example"),
        ("xx", "en.wiki.example"),
        ("api", "en.wiki.example"),
        ("evil.example/#", "en.wiki.example"),
        ("169.254.169.254", "en.wiki.example"),
    ],
)
async def test_the_language_is_the_users(
    wiki: WikipediaFake, wikipedia: ValidatedTool, locale: str, host: str
) -> None:
    """A locale that is no language of Wikipedia's names no host."""
    await wikipedia.call({"query": "富士山"}, context(locale=locale))
    assert wiki.requests[0].headers["host"] == host


async def test_what_one_language_lacks_is_looked_up_in_english(
    wiki: WikipediaFake, wikipedia: ValidatedTool
) -> None:
    """The result says so."""
    reported = await article(wikipedia, "Fujifilm", locale="ja")
    assert (reported["title"], reported["language"]) == ("Fujifilm", "en")
    assert [request.headers["host"] for request in wiki.requests] == [
        "ja.wiki.example",
        "en.wiki.example",
    ]
    assert (await article(wikipedia, "富士山", locale="ja"))["language"] == "ja"


@pytest.mark.parametrize("locale", ["en", "ja"])
async def test_what_there_is_nowhere_is_told(wikipedia: ValidatedTool, locale: str) -> None:
    """With what to try."""
    text = "no article found for Atlantis 7: use other or fewer words, or the title in English"
    assert await refusal(wikipedia, "Atlantis\u200b 7", locale) == text


async def test_an_ambiguous_title_lists_its_meanings(
    wiki: WikipediaFake, wikipedia: ValidatedTool
) -> None:
    """They stand in the sections of its page."""
    meanings = "Mercury (planet), the first planet\nMercury (element), a metal"
    wiki.page("en", "Mercury", "Mercury may be:", sections=meanings, is_disambiguation=True)
    wiki.page("en", "Mercury (planet)", "Mercury is a planet.")
    reported = await article(wikipedia, "Mercury")
    assert (reported["ambiguous"], reported["summary"]) == (True, f"Mercury may be:\n\n{meanings}")
    assert reported["others"] == [{"title": "Mercury (planet)"}]
    assert "ambiguous" not in await article(wikipedia, "Mercury (planet)")


@pytest.mark.parametrize(
    ("sections", "summary"), [("One\nTwo", "One\nTwo"), ("", "List of things")]
)
async def test_an_article_without_a_beginning_shows_its_sections(
    wiki: WikipediaFake, wikipedia: ValidatedTool, sections: str, summary: str
) -> None:
    """Or at least its title."""
    wiki.page("en", "List of things", "", sections=sections)
    assert (await article(wikipedia, "List of things"))["summary"] == summary


async def test_a_long_article_is_cut(wiki: WikipediaFake, wikipedia: ValidatedTool) -> None:
    """By the service, as it was asked to."""
    wiki.page("en", "Long", "word " * 10_000)
    assert 1100 < len((await article(wikipedia, "Long"))["summary"]) < 1300


async def test_a_query_is_words_and_no_operators(
    wiki: WikipediaFake, wikipedia: ValidatedTool
) -> None:
    """A colon would make it more than a search for words."""
    await refusal(wikipedia, "insource:/.*/  incategory:x")
    assert wiki.requests[0].params["gsrsearch"] == "insource /.*/ incategory x"


@pytest.mark.parametrize("query", ["…", "  ", "\u200b", "://"])
async def test_a_query_without_a_letter_is_refused(
    wiki: WikipediaFake, wikipedia: ValidatedTool, query: str
) -> None:
    """Nothing is asked."""
    text = "invalid parameters: query: write a title, or a few words of one"
    assert (await refusal(wikipedia, query), wiki.requests) == (text, [])


async def test_the_same_question_is_asked_once(
    wiki: WikipediaFake, wikipedia: ValidatedTool
) -> None:
    """Whatever its case and spaces; another language is another question."""
    for query, locale in (
        ("Mount Fuji", "en"),
        (" mount  FUJI", "en-GB"),
        ("Mount Fuji", "de"),
        ("Mount Fuji", "de"),
    ):
        await article(wikipedia, query, locale)
    assert [request.headers["host"][:2] for request in wiki.requests] == ["en", "de"]


async def test_the_user_agent_says_who_asks(wiki: WikipediaFake) -> None:
    """And whom to write to, if the operator has named somebody."""
    wiki.pages = {"": wiki.pages["en"]}
    async with http_client() as http:
        for contact in ("", "ops@example.org"):
            await article(
                tool(http, wikipedia_base_url=wiki.base_url, wikipedia_contact=contact), "Fuji"
            )
    version = httpx.__version__
    assert [request.headers["user-agent"] for request in wiki.requests] == [
        f"Kaiwa (self-hosted chat assistant) httpx/{version}",
        f"Kaiwa (self-hosted chat assistant; ops@example.org) httpx/{version}",
    ]


async def test_a_private_address_is_one_host_for_all(wiki: WikipediaFake) -> None:
    """Without a place for the language there is no second host to ask."""
    wiki.pages = {"": wiki.pages["ja"]}
    async with http_client() as http:
        private = tool(http, wikipedia_base_url=f"{wiki.base_url}/")
        assert (await article(private, "富士山", "ja"))["title"] == "富士山"
        assert (await refusal(private, "Atlantis", "ja")).startswith("no article found")
    assert len(wiki.requests) == 2


@pytest.mark.parametrize(
    "address",
    [
        "https://wikipedia.org/{language}",
        "https://{language}.wikipedia.org/w",
        "https://{language}.{language}.org",
        "https://{host}",
        "https://{language",
        "{language}.wikipedia.org",
        "ftp://{language}.wikipedia.org",
        "https://me@{language}.wikipedia.org",
    ],
)
def test_an_address_has_a_place_for_the_language_in_its_host_alone(address: str) -> None:
    """Anything else is refused at the start."""
    with pytest.raises(ValidationError):
        WikipediaConfig(wikipedia_base_url=address)


@pytest.mark.parametrize("contact", ["a\r\nX-Evil: 1", "名前", "a) b", "x" * 201])
def test_a_contact_fits_into_a_header(contact: str) -> None:
    """One line of ASCII."""
    with pytest.raises(ValidationError):
        WikipediaConfig(wikipedia_contact=contact)


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("status 429", "API error: status 429"),
        ("not_json", "API request failed: the answer is not JSON"),
    ],
)
async def test_a_failure_is_told_and_not_remembered(
    wiki: WikipediaFake, wikipedia: ValidatedTool, failure: str, text: str
) -> None:
    """The next question is asked afresh."""
    wiki.fail(failure)
    assert await refusal(wikipedia, "Mount Fuji") == text
    wiki.recover()
    assert (await article(wikipedia, "Mount Fuji"))["title"] == "Mount Fuji"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            error("ratelimited"),
            "API error: ratelimited (too many requests, try again in some minutes)",
        ),
        (error("maxlag"), "API error: maxlag (too many requests, try again in some minutes)"),
        (error("internal_api_error_DBQueryError"), "API error: internal_api_error_DBQueryError"),
        (error("see http://10.1.2.3"), "API request failed: the answer is not one of a Wikipedia"),
        (SourceAnswer(body=b"[]"), "API request failed: the answer is not one of a Wikipedia"),
        (
            SourceAnswer(body=b'{"error": "no"}'),
            "API request failed: the answer is not one of a Wikipedia",
        ),
        (SourceAnswer(body=b"{}"), "API request failed: the answer is not one of a Wikipedia"),
    ],
)
async def test_a_refusal_is_told_by_its_code(
    wiki: WikipediaFake, wikipedia: ValidatedTool, answer: SourceAnswer, text: str
) -> None:
    """The service's own words are left out."""
    wiki.replay(answer)
    assert await refusal(wikipedia, "Mount Fuji") == text


@pytest.mark.parametrize(
    "query",
    [
        [],
        {},
        {"pages": None},
        {"pages": {"1": {}}},
        {"pages": [None, 1, {}]},
        {"pages": [{"pageid": 1}, {"title": "x"}]},
    ],
)
async def test_an_answer_of_another_shape_finds_nothing(
    wiki: WikipediaFake, wikipedia: ValidatedTool, query: object
) -> None:
    """Whatever it holds."""
    wiki.replay(SourceAnswer(body=json.dumps({"query": query}).encode()))
    assert (await refusal(wikipedia, "Mount Fuji")).startswith("no article found")


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        "",
        "javascript:alert(1)",
        "https://",
        "https://a b",
        "https://x/<b>",
        "http://[::1",
        "https://x/" + "a" * 3000,
    ],
)
async def test_what_is_untrusted_is_bounded(
    wiki: WikipediaFake, wikipedia: ValidatedTool, url: object
) -> None:
    """Texts, lists and links of any kind and size."""
    page = {
        **{
            "pageid": 1,
            "title": "T" * 2000,
            "description": 7,
            "extract": "e" * 2000,
            "fullurl": url,
        },
        **{"index": "x", "pagelanguage": "x" * 900, "pageprops": [], "revisions": [7]},
    }
    wiki.replay(SourceAnswer(body=json.dumps({"query": {"pages": [page] * 20}}).encode()))
    reported = await article(wikipedia, "T")
    assert (len(reported["title"]), len(reported["summary"]), len(reported["others"])) == (
        300,
        1500,
        4,
    )
    assert reported["url"] == f"https://en.wikipedia.org/wiki/{'T' * 300}"
    assert (reported["language"], "description" in reported, "last_edited" in reported) == (
        "en",
        False,
        False,
    )
