"""What the vendor's own search has found, as an answer shows it."""

from __future__ import annotations

import pytest

from bot.channels.line.formatting import plain_text
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.safe_text.links import source_lists
from bot.store import Store
from bot.transcript import Grounding, Source, ToolCall, Usage
from tests.bot.harness import HERE, Harness

FOUND = Grounding((Source("example.com", "https://a.example/r/AUZ_x-1"),), ("news & views",))
LISTS = (
    "Sources:\n- [example.com](https://a.example/r/AUZ_x-1)\n\n"
    "Search Google for:\n- [news & views](https://www.google.com/search?q=news%20%26%20views)"
)


def shown(*sources: tuple[str, str], queries: tuple[str, ...] = ()) -> list[str]:
    """The lists, with their keys for headings."""
    return list(source_lists(Grounding(tuple(Source(*source) for source in sources), queries), str))


async def test_an_answer_ends_with_its_sources(store: Store) -> None:
    """In the asker's language; the history keeps the model's own words."""
    harness = Harness(
        store, [Step("So.", grounding=FOUND), Step("はい。", grounding=FOUND), Step("Bye.")]
    )
    for number, text in enumerate(("news?", "ニュースは？", "bye")):
        await harness.receive(text, f"m{number}")
        await harness.runner.process(HERE)
    assert harness.box.texts[0] == f"So.\n\n{LISTS}"
    assert harness.box.texts[1].startswith("はい。\n\n出典：\n- [example.com]")
    assert "Google で検索：" in harness.box.texts[1]
    assert harness.box.texts[2] == "Bye."
    assert [message.footer for message in await read_history(store, HERE)][1] == LISTS
    assert [
        message.text for message in harness.model.requests[2].messages if message.role == "model"
    ] == [
        "So.",
        "はい。",
    ]


async def test_sources_of_earlier_rounds_are_named_once(store: Store) -> None:
    """A search may come before a call of ours."""
    call = ToolCall("", "nobody", {})
    harness = Harness(
        store,
        [
            Step(calls=(call,), grounding=FOUND),
            Step("So.", stop_reason="max_tokens", grounding=FOUND),
        ],
    )
    await harness.receive("news?", "m1")
    await harness.runner.process(HERE)
    assert harness.box.texts == [f"So.\n\n(The answer breaks off here.)\n\n{LISTS}"]


async def test_a_refusal_of_the_vendors_tools_reaches_the_operator(store: Store) -> None:
    """Once a day, like every alert, and the user gets the answer."""
    refused = Step("Fine", usage=Usage(1), refusal="gemini-3.5-flash, google_search: 400 no")
    harness = Harness(store, [refused, refused], alert_to="mailbox:OPS")
    for number in range(2):
        await harness.receive("hello", f"m{number}")
        await harness.runner.process(HERE)
    for conversation in await store.leases.due(10):
        await harness.runner.process(conversation)
    assert harness.box.texts == [
        "Fine",
        "Fine",
        "The language model does without its own tools for an hour, as they were refused: "
        "gemini-3.5-flash, google_search: 400 no. SERVER_TOOLS=off asks for none; “kaiwa doctor” "
        "checks the model.",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://a.example/",
        "javascript:alert(1)",
        "https://",
        "https://[",
        "https://a.example@evil.example/",
        "https://a.example:x@evil.example/",
        "data:text/html,<script>alert(1)</script>",
        " https://a.example/",
        "https://a b",
        "https://あ",
        "/x",
        "x" * 2000,
    ],
)
def test_what_is_no_address_is_left_out(url: str) -> None:
    """Nothing but HTTP is linked."""
    assert shown(("title", url)) == []


def test_titles_and_addresses_cannot_leave_their_link() -> None:
    """Neither brackets nor line breaks nor invisible characters; a page without a title has its
    host's name."""
    assert shown(
        ("a](https://evil.example) [b\nc\u200b", "https://a.example/x)[y](z"),
        ("\u200b", "https://b.example/?q=*`"),
    ) == [
        "reply.sources\n- [a https //evil.example b c](https://a.example/x%29%5By%5D%28z)\n"
        "- [b.example](https://b.example/?q=%2A%60)"
    ]


def test_few_are_shown() -> None:
    """Five pages, three searches; each page once, also under two addresses that look the same."""
    found = [("t", f"https://a.example/{number}") for number in range(9)]
    pages, searches = shown(found[0], *found, queries=("a", "b", "c", "d"))
    assert (pages.count("\n"), searches.count("\n")) == (5, 3)


def test_line_shows_title_and_address() -> None:
    """LINE has no links with titles."""
    assert plain_text(LISTS).splitlines()[1] == "・example.com https://a.example/r/AUZ_x-1"
