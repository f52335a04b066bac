"""Hostile documents end with the process that reads them, and with nothing else."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.fakes.pages import hostile_site
from tests.toolset.contexts import context
from tests.toolset.webpage.documents import ARTICLE, PARAGRAPHS, pdf, pdf_bomb
from tests.waiting import until
from toolset.read_web_page import ReadWebPage
from toolset.tool import ToolError
from toolset.webpage.extract import MEMORY_CAP
from toolset.webpage.fetch import BODY_CAP, Document, Kind, PageFetcher
from toolset.webpage.worker import UNREADABLE, extract


def document(body: bytes, kind: Kind = "html", charset: str = "") -> Document:
    """As it was served."""
    return Document("https://page.example/", kind, charset, body)


def workers() -> list[int]:
    """Processes that extract, and are children of this one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            is_worker = b"extract.py" in (stat.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and is_worker:
            found.append(int(stat.parent.name))
    return found


def memory(pid: int) -> int:
    """Bytes that a process occupies; none if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


@pytest.mark.parametrize(
    "body", [ARTICLE.encode(), ARTICLE.encode() + b" " * (BODY_CAP - len(ARTICLE.encode()))]
)
async def test_a_page_is_read_in_another_process(body: bytes) -> None:
    """Up to the size that is fetched."""
    found = await extract(document(body), 20)
    assert found == {
        "title": "Tea of Uji",
        "date": "2026-03-01",
        "text": "\n".join(["Tea of Uji", *PARAGRAPHS]),
    }


async def test_a_long_text_comes_whole() -> None:
    """Two hundred thousand characters of any script."""
    found = await extract(document(("𠮷" * 250_000).encode(), "plain"), 20)
    assert found == {"title": "", "date": "", "text": "𠮷" * 200_000}


async def test_libraries_may_warn() -> None:
    """A PDF with a wrong table is repaired with many words, none of which get into the answer."""
    damaged = pdf("Sencha").replace(b"startxref\n4", b"startxref\n1")
    assert (await extract(document(damaged, "pdf"), 20))["text"] == "Sencha"


@pytest.mark.parametrize("body", [b"%PDF-1.4 nothing", b"", pdf("Sencha", password="secret")])
async def test_what_cannot_be_read_is_an_error(body: bytes) -> None:
    """Damaged or encrypted."""
    with pytest.raises(ToolError, match=f"^{UNREADABLE}$"):
        await extract(document(body, "pdf"), 20)


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 400_000,
        b"<table><tr><td>" * 130_000,
        b"<p " + b" ".join(b"a%d=1" % number for number in range(200_000)) + b">x",
        b"<a href=x>a</a>" * 130_000,
        b"<" * BODY_CAP,
        b"&" * BODY_CAP,
        b"<meta charset=punycode>" + b"\x80-a" * 500_000,
    ],
    ids=["nesting", "tables", "attributes", "links", "brackets", "ampersands", "punycode"],
)
async def test_a_page_made_to_be_slow_is_given_up_in_time(body: bytes) -> None:
    """The loop goes on meanwhile, and no process is left."""
    started = time.monotonic()
    longest = 0.0
    reading = asyncio.ensure_future(extract(document(body), 1))
    while not reading.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    outcome = (await asyncio.gather(reading, return_exceptions=True))[0]
    assert isinstance(outcome, ToolError | dict)
    assert time.monotonic() - started < 4
    assert longest < 1
    assert workers() == []


async def test_a_pdf_bomb_takes_little_memory() -> None:
    """The process is refused memory, or is killed when its time is over; ours stays as it was."""
    bomb = pdf_bomb()
    assert len(bomb) < BODY_CAP
    reading = asyncio.ensure_future(extract(document(bomb, "pdf"), 5))
    largest = 0
    while not reading.done():
        await asyncio.sleep(0.02)
        largest = max([largest, *map(memory, workers())])
    assert isinstance(reading.exception(), ToolError) or reading.result()["text"] == ""
    assert largest < MEMORY_CAP


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")
async def test_a_cancelled_reading_leaves_no_process() -> None:
    """Nobody waits for it any more."""
    reading = asyncio.ensure_future(extract(document(b"<a href=x>a</a>" * 130_000), 20))
    await until(lambda: bool(workers()))
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert workers() == []


async def test_a_page_is_fetched_and_read_for_the_model() -> None:
    """From an address to a text, as Kaiwa runs it."""
    async with hostile_site() as site:
        site.page("page.example", "/", ARTICLE.encode(), "text/html")
        tool = ReadWebPage(PageFetcher(site.resolve, site.network))
        read = await tool.call({"url": "http://page.example/"}, context())
    assert (read["title"], read["date"]) == ("Tea of Uji", "2026-03-01")
