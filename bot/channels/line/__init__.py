"""The LINE channel.

    door       the webhook            webhook, reading       its events, and what arrives by them
    sending    reply token or push    form                   a reply as bubbles: markdown, splitting
    quota      what may be pushed     asking                 questions with buttons, and what these say
    bubble     a message and buttons  people, content        who speaks, and the images they send
    presence   read, and loading      checkup, admin         for kaiwa doctor
    api        LINE's SDK             lazy                   loads it when it is first needed

Its docs: https://developers.line.biz/en/reference/messaging-api/
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace
from starlette.routing import BaseRoute, Route

from bot.channels import Accept, AssertLease, Channel, Delivery, InboundEvent, Take
from bot.channels.kv import KeyValue
from bot.channels.line import content
from bot.channels.line.address import KINDS, Place, address_of, now_ms, place_of
from bot.channels.line.delivery import Letter, PushMode, Sender
from bot.channels.line.events import Reader
from bot.channels.line.formatting import Form
from bot.channels.line.inbound import PATH, Door
from bot.channels.line.lazy import LazyApi
from bot.channels.line.people import NOBODY, People
from bot.channels.line.presence import present
from bot.channels.line.profile import Person
from bot.channels.line.quota import Allowance, untold
from bot.channels.traffic import Records
from bot.live_events import Watcher
from bot.texts import Texts
from bot.transcript import Author, Media

STYLE = (
    "You write in LINE, a messenger read on phones. It shows plain text: no Markdown, no tables, no headings. "
    "Write two to five short sentences unless you are asked for more. In Japanese write です・ます. "
    "Use metric units. Give an address (URL) in full, with a space before and after it."
)


class Line(Channel):
    """The channel of LINE (``bot.channels.Channel``).

    Args:
        push: ``auto`` replies by token and pushes when that is too late, ``always`` pushes, ``never`` does not.
        language: of our own sentences, where the words around them have none.
        allowed_users: user ids; empty for everybody.
        allowed_groups: group and room ids; empty for all.
        clock: milliseconds since the epoch.
        timeout_s: of one request to LINE.
        month_used_up: is told when this month's messages are.
    """

    name = "line"
    style = STYLE

    def __init__(
        self,
        accept: Accept,
        notes: KeyValue,
        texts: Texts,
        *,
        channel_secret: str,
        access_token: str,
        api_base_url: str,
        data_api_base_url: str,
        push: PushMode = "auto",
        language: str = "en",
        allowed_users: Collection[str] = (),
        allowed_groups: Collection[str] = (),
        clock: Callable[[], int] = now_ms,
        timeout_s: float = 10.0,
        month_used_up: Callable[[], Awaitable[None]] = untold,
    ) -> None:
        self._form = Form(texts, language)
        self._clock = clock
        self._records = Records(notes, "line", "LINE_CHANNEL_SECRET")
        self._door = Door(accept, channel_secret, Reader(allowed_users, allowed_groups), self._records, clock)
        self._api = LazyApi(access_token, api_base_url, data_api_base_url, timeout_s)
        self._people = People(self._api, notes)
        self._sender = Sender(self._api, notes, Allowance(self._api, notes, month_used_up), push, clock)

    async def aclose(self) -> None:
        """Write down what is gathered for the doctor, and close the connections."""
        await self._records.aclose()
        await self._api.aclose()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook."""
        return (Route(PATH, self._door.answer, methods=["POST"]),)

    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """The message marked as read and, in 1:1, the loading animation; LINE shows no more."""
        return present(self._api, place_of(conversation), address_of(address))

    async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> None:
        """Send one reply, in as many bubbles as it needs and a reader bears."""
        if delivery.reply.settles:  # what LINE has shown cannot be changed, and a message more would cost
            return
        place, address = place_of(conversation), address_of(delivery.address)
        bubbles = self._form.of(delivery.reply, place)
        letter = Letter(delivery.id, delivery.attempts, place, address, bubbles, delivery.reply.private)
        await self._sender.send(letter, assert_lease)
        self._records.delivery(self._clock())

    def notice_target(self, recipient: str) -> tuple[str, str]:
        """A chat by its id alone, which begins with a letter for its kind."""
        return Place("notices", KINDS[recipient[0]], recipient).conversation, ""

    async def enrich(self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool) -> list[InboundEvent]:
        """Names of the speakers, and in 1:1 their language."""
        users = [arrival.message.author.id for arrival in arrivals if arrival.message.author]
        people = await self._people.of(place_of(conversation), users)
        return [_introduced(arrival, people) for arrival in arrivals]

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Hand over an image that somebody sent."""
        return await content.fetch(self._api, media.ref, take)


def _introduced(arrival: InboundEvent, people: dict[str, Person]) -> InboundEvent:
    author = arrival.message.author
    if author is None:
        return arrival
    person = people.get(author.id, NOBODY)
    known = Author(author.id, person.name or author.name, person.language or author.locale, author.time_zone)
    return replace(arrival, message=replace(arrival.message, author=known))
