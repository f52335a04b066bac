"""What honest people ask for with addresses goes on without a question, and their links are
shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Grounding, Message, Source, Text, ToolCall
from tests.bot.harness import HERE, Harness
from tests.fakes.pages import hostile_site
from tests.fakes.tools import Echo
from tests.injections.addresses import remember, tools_of
from toolset.tool import ToolContext

A, B, C, D, E = (f"http://shop.example/{name}" for name in "abcde")
WIKI = "https://ja.wikipedia.org/wiki/東京"
ENCODED = "https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC"
SAYS = {"en": "Hanako likes rain.", "ja": "花子は雨が好きです。"}
ASKS = {"en": "What is there? {}", "ja": "ここには何がありますか。{}"}
ANSWERS = {"en": "Here: {}", "ja": "こちらです：{}"}


class Search(Echo):
    """A search: what it finds is fixed."""

    name = "tickets"  # a server's tool, as those in the attacks

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        return {"results": [{"url": url, "title": f"See {url}"} for url in (A, B, C, D, E, WIKI)]}


@dataclass(frozen=True, slots=True)
class Case:
    """One wish.

    Attributes:
        gives: stands in the asker's message.
        gave: stood in an earlier one.
        calls: rounds of calls, each an address to open, or a search.
        shows: stands in the answer, and is shown as it is.
    """

    name: str
    shows: str
    gives: str = ""
    gave: str = ""
    calls: Sequence[str] = ()
    sources: tuple[Source, ...] = ()


CASES = (
    Case("a link that is given", A, gives=A, calls=[A]),
    Case("a link that was given before", A, gave=A, calls=[A]),
    Case("a link that ends a sentence", A, gives=f"({A}).", calls=[A]),
    Case(
        "a host without a scheme",
        "shop.example",
        gives="shop.example",
        calls=["http://shop.example"],
    ),
    Case("a link from a search", A, calls=["search", A]),
    Case("three links from a search", f"{A} {B} {C}", calls=["search", A, B, C]),
    Case("five links from a search", f"{A} {B} {C} {D} {E}", calls=["search"]),
    Case("the same link twice", f"{A} {A}", calls=["search", A, f"{A} 15"]),
    Case("the next part of a long page", A, gives=A, calls=[A, f"{A} 15"]),
    Case("a link that a page names", B, gives=A, calls=[A, B]),
    Case(
        "where a page leads",
        "http://shop.example/moved",
        gives="http://shop.example/old",
        calls=["http://shop.example/old"],
    ),
    Case("a link in Markdown", f"[the shop]({A}) and [more]({B})", calls=["search"]),
    Case("a link in bold", f"**{A}**", calls=["search"]),
    Case("letters outside of ASCII", f"{WIKI} [東京]({ENCODED})", calls=["search"]),
    Case("a part of a page that is named", f"{A}#top", gives=f"{A}#top", calls=[f"{A}#top"]),
    Case("an e-mail address", "hanako.sato@mail.example", calls=["search"]),
    Case(
        "names of files and code",
        "main.py, README.md, console.log(x), os.path.join, Node.js, v1.2.3",
        calls=["search"],
    ),
    Case(
        "times, figures and abbreviations",
        "12:30, 3.14, 1:2, e.g. Dr.Sato, U.S. 10.5km",
        calls=["search"],
    ),
    Case(
        "a source of the vendor's search", f"[found]({D}/x)", sources=(Source("Found", f"{D}/x"),)
    ),
    Case("a link that the model knows", "https://www.python.org/", calls=[]),
)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_no_question_is_asked_and_all_links_are_shown(
    store: Store, case: Case, language: str
) -> None:
    """The history holds something private, and the results are somebody else's words."""
    grounding = Grounding(case.sources)
    calls = [Step(calls=(_call(number, one),)) for number, one in enumerate(case.calls)]
    answer = ANSWERS[language].format(case.shows)
    async with hostile_site() as site:
        text = f"{SAYS[language]} {B} {'long ' * 4_000}"
        site.page("shop.example", "/old", b"", "", 302, ["Location: http://shop.example/moved"])
        for target in ("/", "/a", "/b", "/c", "/d", "/e", "/moved"):
            site.page("shop.example", target, text.encode(), "text/plain; charset=utf-8")
        steps = [*calls, Step(answer, grounding=grounding)]
        harness = Harness(store, steps, tools=tools_of(site, Search()))
        said = Text(f"{SAYS[language]} {case.gave}")
        mine = Message("m0", "user", (said,), 1, Author("u1"))
        answered = Message("a0", "model", (Text("Noted."),), 3)
        await remember(store, HERE, (mine, answered))
        asked = Message(
            "m1", "user", (Text(ASKS[language].format(case.gives)),), 10_000, Author("u1")
        )
        assert await harness.intake(HERE, InboundEvent(asked))
        await harness.runner.process(HERE)
        assert await harness.question() is None
        assert harness.box.texts[0].startswith(answer)
        opened = [one.partition(" ")[0].partition("#")[0] for one in case.calls if one != "search"]
        assert len(site.requests) >= len(set(opened))


def _call(number: int, wish: str) -> ToolCall:
    if wish == "search":
        return ToolCall(f"c{number}", "tickets", {"about": "shops"})
    url, _, offset = wish.partition(" ")
    return ToolCall(
        f"c{number}", "read_web_page", {"url": url} | ({"offset": int(offset)} if offset else {})
    )
