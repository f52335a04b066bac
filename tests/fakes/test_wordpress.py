"""The stand-in for a site run by WordPress has the feeds that WordPress has."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.wordpress import WordPressFake, wordpress_fake
from tests.toolset.contexts import http_client


@pytest.fixture
def fake() -> Iterator[WordPressFake]:
    """The fake, with two posts."""
    with wordpress_fake("Times") as fake:
        fake.post("Rain in Kyoto")
        fake.post("Football")
        yield fake


async def get(fake: WordPressFake, target: str) -> httpx.Response:
    """One request, its path and query as written."""
    async with http_client() as http:
        return await http.get(fake.base_url + target)


@pytest.mark.parametrize(
    ("target", "titles"),
    [
        ("/feed/", ["Football", "Rain in Kyoto"]),
        ("/feed/?s=kyoto+rain", ["Rain in Kyoto"]),
        ("/feed/?s=snow", []),
    ],
)
async def test_a_search_has_its_feed(fake: WordPressFake, target: str, titles: list[str]) -> None:
    """Of the posts with all the words, the newest first."""
    answer = await get(fake, target)
    assert answer.headers["content-type"] == "application/rss+xml; charset=UTF-8"
    assert [
        title for title in ("Football", "Rain in Kyoto") if f"<title>{title}</title>" in answer.text
    ] == titles


@pytest.mark.parametrize(
    ("target", "status"), [("/feed", 301), ("/?feed=rss2", 301), ("/", 404), ("/feed/?q=x", 404)]
)
async def test_other_addresses_are_no_feed(fake: WordPressFake, target: str, status: int) -> None:
    """The canonical one is without a redirection."""
    assert (await get(fake, target)).status_code == status
