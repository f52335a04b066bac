"""A stand-in for the feeds of a site run by WordPress, such as Global Voices.

Documented at https://wordpress.org/documentation/article/wordpress-feeds/: ``/feed/`` has the
newest posts as RSS 2.0, and with ``?s=words`` those that have all the words. As WordPress does, it
sends ``/feed`` and ``/?feed=rss2`` to that address. The form is that of
https://github.com/WordPress/wordpress-develop/blob/trunk/src/wp-includes/feed-rss2.php.

with WordPressFake("Global Voices").served() as fake:
    fake.post("A title", "https://…")
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape

from aiohttp import web

from tests.fakes.sources import Failing

NAMESPACES = (
    'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:atom="http://www.w3.org/2005/Atom" '
    'xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
)
AT = datetime(2026, 11, 22, 8, 0, tzinfo=UTC)


class WordPressFake(Failing):
    """The server.

    Attributes:
        requests: paths with queries, decoded, in order.
        body: sent instead of the feed, where it is not empty.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.body = b""
        self._name = name
        self._posts: list[tuple[str, str]] = []

    def post(
        self, title: str, link: str = "https://news.example/1", summary: str = "", at: datetime = AT
    ) -> None:
        """Publish; title and summary are HTML."""
        self._posts.insert(0, (title, _item(title, link, summary, at)))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append(request.rel_url.human_repr())
        if failure := await self.failed(request):
            return failure
        if request.path == "/feed" or "feed" in request.query:
            return web.Response(status=301, headers={"Location": "/feed/"})
        if request.path != "/feed/" or set(request.query) - {"s"}:
            return web.Response(
                status=404, text="<html>Page not found</html>", content_type="text/html"
            )
        return web.Response(
            body=self.body or self.feed(request.query.get("s", "")).encode(),
            headers={"Content-Type": "application/rss+xml; charset=UTF-8"},
        )

    def feed(self, words: str = "") -> str:
        """The feed of a search."""
        wanted = words.casefold().split()
        items = [
            item for title, item in self._posts if all(word in title.casefold() for word in wanted)
        ]
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" {NAMESPACES}><channel>'
            f"<title>{escape(self._name)}</title>"
            '<atom:link href="https://news.example/feed/" rel="self" type="application/rss+xml" />'
            "<link>https://news.example</link><description></description><language>en-US</language>"
            f"<generator>https://wordpress.org/?v=6.9</generator>{''.join(items)}</channel></rss>"
        )


def _item(title: str, link: str, summary: str, at: datetime) -> str:
    return (
        f"<item><title>{escape(title)}</title><link>{escape(link)}</link><dc:creator><![CDATA[An "
        "Author]]></dc:creator>"
        f"<pubDate>{format_datetime(at)}</pubDate><category><![CDATA[World]]></category>"
        "<guid "
        f'isPermaLink="false">{escape(link)}</guid><description><![CDATA[{summary}]]></description></item>'
    )
