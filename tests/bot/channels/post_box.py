"""A channel that can do nothing but what each must: it takes plain text in, and sends words.

Buttons are numbered words: whoever writes the number of one presses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.channels import (
    SAY,
    Abilities,
    AssertLease,
    Button,
    Delivery,
    Host,
    InboundEvent,
    Reach,
    Reply,
    Take,
    Validity,
)
from bot.errors import DeliverOnPress
from bot.transcript import Author, Media, Message, Part, Text
from tests.bot.harness import WRITTEN_AT, Mailbox

ROOM = "postbox:house:room-1"
BESIDE = ("postbox:late:room-1", "postbox:polls:room-1")


class PostBox(Mailbox):
    """A channel in memory, with a webhook that takes plain text.

    Args:
        waits_s: an envelope for the answer comes with each message, and lasts so long for it; 0:
            none is needed.

    Attributes:
        now_s: the clock by which envelopes last.
        files: what people have sent, by reference.
    """

    name = "postbox"
    style = "You write plain text, which is printed and put into an envelope."

    def __init__(self, host: Host | None = None, waits_s: float = 0.0) -> None:
        super().__init__()
        self._host = host
        self._waits_s = waits_s
        self.abilities = Abilities(expires=waits_s > 0)
        self.now_s = 0.0
        self.files: dict[str, bytes] = {}

    def routes(self) -> Sequence[BaseRoute]:
        return (Route("/webhooks/postbox", self._take, methods=["POST"]),)

    async def _take(self, request: Request) -> Response:
        words = (await request.body()).decode()
        if self._host:
            await self._host.accept(ROOM, self.event_of(words, "message-1"))
        return Response()

    def event_of(self, words: str, message_id: str, *files: Media) -> InboundEvent:
        """What somebody has put into the box."""
        parts: list[Part] = [*files, Text(words)]
        message = Message(message_id, "user", tuple(parts), WRITTEN_AT, Author("user-1"))
        address, buttons = str(self.now_s), self.buttons
        if words.isdecimal() and 0 < int(words) <= len(buttons):
            button = buttons[int(words) - 1]
            return InboundEvent(
                message, address, event="action", action=button.action, target=button.value
            )
        return InboundEvent(message, address)

    def validity(self, address: str) -> Validity:
        """A second envelope in the box is for one last message; none is for later ones."""
        if not self.abilities.expires:
            return Validity(address, address)
        left_s = self._waits_s - (self.now_s - float(address or "-inf"))
        if left_s + self._waits_s <= 0:
            return Validity("", "")
        return Validity(address if left_s > 0 else "", "", max(left_s, 0.0))

    async def reach(self, conversation: str, person: str) -> Reach:
        return Reach("press" if self.abilities.expires else "always")

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        if self.abilities.expires and not delivery.address:
            raise DeliverOnPress("no envelope")
        return await super().deliver(conversation, delivery, assert_lease)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        return media.ref in self.files and take(self.files[media.ref])

    @property
    def letters(self) -> list[str]:
        """What people read."""
        return [in_words(delivery.reply) for delivery in self.delivered]

    @property
    def buttons(self) -> list[Button]:
        """Those of the last letter."""
        return buttons_of(self.delivered[-1].reply) if self.delivered else []


def buttons_of(reply: Reply) -> list[Button]:
    """The buttons of a reply that do something; a card that waits for a decision takes words."""
    buttons = list(reply.buttons)
    if reply.card and not reply.awaited:
        buttons = [*reply.card.buttons, *buttons]
    return [button for button in buttons if button.action != SAY]


def in_words(reply: Reply) -> str:
    """All of a reply in words; the text of one whose card waits for a decision says them."""
    parts = [reply.text]
    if reply.card and not reply.awaited:
        parts.append(reply.card.text)
    parts += [card.text for card in reply.cards]
    parts += [file.text for file in reply.files]
    parts.append(reply.sayings_in_words)
    parts += [f"[{number}] {one.label}" for number, one in enumerate(buttons_of(reply), 1)]
    return "\n".join(filter(None, parts))
