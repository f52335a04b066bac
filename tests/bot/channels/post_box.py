"""A channel that can do nothing but what each must: it takes plain text in, and sends words."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.channels import Host, InboundEvent, Reply
from bot.transcript import Author, Message, Text
from tests.bot.harness import Mailbox

ROOM = "postbox:room-1"


class PostBox(Mailbox):
    """A channel in memory, with a webhook that takes plain text; it has no abilities."""

    name = "postbox"
    style = "You write plain text, which is printed and put into an envelope."

    def __init__(self, host: Host | None = None) -> None:
        super().__init__()
        self._host = host

    def routes(self) -> Sequence[BaseRoute]:
        return (Route("/webhooks/postbox", self._take, methods=["POST"]),)

    async def _take(self, request: Request) -> Response:
        words = (await request.body()).decode()
        message = Message("message-1", "user", (Text(words),), 1, Author("user-1"))
        if self._host:
            await self._host.accept(ROOM, InboundEvent(message))
        return Response()

    @property
    def letters(self) -> list[str]:
        """What people read."""
        return [in_words(delivery.reply) for delivery in self.delivered]


def in_words(reply: Reply) -> str:
    """All of a reply in words; the text of one whose card waits for a decision says them."""
    parts = [reply.text]
    if reply.card and not reply.awaited:
        parts.append(reply.card.text)
    parts += [card.text for card in reply.cards]
    parts += [file.text for file in reply.files]
    parts.append(reply.sayings_in_words)
    return "\n".join(filter(None, parts))
