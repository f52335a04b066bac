"""LINE behind the channels' Protocol: the parts of this package, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog
from msgspec.json import Decoder
from msgspec.structs import replace
from starlette.routing import BaseRoute, Route

from bot.channels import (
    NOTHING_KNOWN,
    Abilities,
    AssertLease,
    Channel,
    Delivery,
    Host,
    InboundEvent,
    KnownQuote,
    NoWatcher,
    Place,
    Reach,
    Take,
    Validity,
)
from bot.channels.line.client import Client, Failure
from bot.channels.line.delivery import (
    MINUTE_MS,
    OutboundMessage,
    Sender,
)
from bot.channels.line.formatting import Formatter, find_pictures
from bot.channels.line.inbound import WebhookReceiver, find_turn, path_of
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import (
    Address,
    Chat,
    Person,
    chat_of,
    own_message,
    read_address,
    write_address,
)
from bot.channels.traffic import TrafficRecorder
from bot.clock import DAY_S
from bot.errors import DeliverLater, StoreUnavailable, TokenRefused
from bot.file_types import kind_of
from bot.live_events import Watcher
from bot.tasks import run_beside
from bot.transcript import Media, channel_named, encode

if TYPE_CHECKING:
    from bot.channels.line import Config

log = structlog.stdlib.get_logger(__name__)

STYLE = (
    "You write in LINE, a messenger read on phones. It shows plain text: no Markdown, no "
    "headings. "
    "A Markdown table of at most four narrow columns is shown too, where things are compared. "
    "Write two to five short sentences unless you are asked for more. In Japanese write "
    "です・ます. "
    "Use metric units. Give an address (URL) in full, with a space before and after it."
)
# A card cannot be changed: its words are the answer to a press, which costs nothing, and a group in
# which many press at once gets few messages.
CHANGE_PAUSE_S = 10.0
# Of a reply token's minute an answer may use so much; the rest is for a last message.
ANSWER_MS = 45_000
QUOTED_S = 7 * 86_400  # so long a message of ours is known by its id
UNKNOWN_S = 3_600  # before an unknown user is looked up again
LOOKUP_TIMEOUT_S = 3.0
LOADING_S = 20  # a multiple of 5; after a crash the animation stays this long at most
RENEW_S = 15.0
SHOW_AFTER_S = 0.5  # of a turn; a faster answer needs no animation, and saves a call

REFUSED = (
    "LINE_CHANNEL_ACCESS_TOKEN: LINE refuses it; issue a new one at "
    "https://developers.line.biz/console/ (Messaging API tab of the channel), then run kaiwa "
    "doctor"
)
PICTURE = "image/jpeg"  # until its content is read
PICTURE_S = 10.0
FILE_S = 45.0  # a recording is converted first; a reply token lives about a minute
POLL_S = 0.5
RECORDINGS = ("audio", "video")

NOBODY = Person()
_decode_person = Decoder(Person).decode


class Line(Channel):
    """The channel of LINE (``bot.channels.Channel``); its connections end with the context.

    Args:
        timeout_s: of one request to LINE.
    """

    style = STYLE

    def __init__(
        self,
        config: Config,
        host: Host,
        timeout_s: float = 10.0,
    ) -> None:
        self.name = host.channel("line")
        self.approvers = config.approvers if host.account else None
        self._path = path_of(host.account)
        self._clock = host.clock
        self._kv = host.kv
        self._client = Client(config, timeout_s)
        self._sdk = Sdk(config, timeout_s)
        self._traffic = TrafficRecorder(host.kv, self.name, "LINE_CHANNEL_SECRET")
        self._formatter = Formatter(host.texts, host.language)
        self._sender = Sender(self._client, self._sdk, config, host)
        self._files = host.files
        self.abilities = Abilities(
            shows_pictures=host.files.public_url.startswith("https://"),
            change_pause_s=CHANGE_PAUSE_S,
            expires=True,
        )
        self._receiver = WebhookReceiver(config, host, self._traffic)

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._traffic.aclose()
        await self._client.__aexit__()
        await self._sdk.__aexit__()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook."""
        return (Route(self._path, self._receiver.answer, methods=["POST"]),)

    @asynccontextmanager
    async def live_view(self, conversation: str, address: str) -> AsyncGenerator[Watcher]:
        """Read, and the loading animation. What is told is ignored: LINE shows no text before it is
        sent."""
        async with run_beside(
            show_running(self._client, chat_of(conversation), read_address(address))
        ):
            yield NoWatcher()

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> None:
        """Send one reply as up to three messages of text, and what is shown below it."""
        reply = delivery.reply
        if reply.replaces and not reply.card:
            # LINE cannot change a sent message, and one more would cost money.
            return
        chat, address = chat_of(conversation), read_address(delivery.address)
        is_late = bool(delivery.brings)
        pictures, in_words = list[str](), ""
        if reply.files:
            pictures, in_words = await find_pictures(reply, self._files, is_late=is_late)
        messages = self._formatter.messages(reply, chat, pictures, in_words)
        quote = address.quote_token if chat.is_group else ""
        is_free = reply.keep == "if_free"
        outbound = OutboundMessage(delivery, chat, address, messages, quote, free=is_free)
        sent = await self._sender.send(outbound, assert_lease)
        # What tells somebody that they are forgotten must not leave their id here.
        if reply.keep == "always" or delivery.brings:
            # With the process's next request: the one that ends the delivery.
            for message_id in sent:
                name = own_message(chat, message_id)
                self._kv.set_later(name, delivery.turn_id.encode(), QUOTED_S)
        self._traffic.record("delivery", self._clock())

    async def check_access(self) -> None:
        """Ask for the bot's account. Of the channel secret only webhooks show whether it is
        right."""
        try:
            await self._client.check_token()
        except Failure as failure:
            if failure.status == 401:
                raise TokenRefused(REFUSED) from failure
            raise DeliverLater(str(failure), failure.after or 0.0) from failure

    def place(self, conversation: str) -> Place:
        """The chat; LINE sends all messages of a group, and a mention calls the bot."""
        return Place(conversation, overhears=chat_of(conversation).is_group)

    def validity(self, address: str) -> Validity:
        """A reply token is the answer's for 45 seconds. Nothing of it lasts: it is gone with the
        answer to its message."""
        read = read_address(address)
        if not read.reply_token:
            return Validity(address, "")
        left_ms = read.received_at + ANSWER_MS - self._clock()
        now = address if left_ms > 0 else write_address(replace(read, reply_token=""))
        return Validity(now, "", left_ms / 1000 if left_ms > ANSWER_MS - MINUTE_MS else None)

    async def reach(self, conversation: str, person: str) -> Reach:
        """By pushes: these may be off, used up, or cost more than a person's limit of a day."""
        try:
            return await self._sender.reach(chat_of(conversation), person)
        except StoreUnavailable:
            return Reach("late")

    def prefetch(self, conversation: str, author: str) -> None:
        """Read the author's profile."""
        self._kv.prefetch(_profile(chat_of(conversation), author))

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        """Names of the authors, and in 1:1 their language. What does not arrive in time is left
        out."""
        chat = chat_of(conversation)
        wanted = {arrival.author_id for arrival in arrivals if arrival.author_id}
        found = await asyncio.gather(*(self._look_up(chat, user) for user in wanted))
        people = dict(zip(wanted, found, strict=True))
        enriched: list[InboundEvent] = []
        for arrival in arrivals:
            message, author = arrival.message, arrival.message.author
            if author is not None and (person := people.get(author.id)):
                known = replace(
                    author,
                    name=person.name or author.name,
                    locale=person.language or author.locale,
                )
                message = replace(message, author=known)
            enriched.append(replace(arrival, message=message))
        return enriched

    async def _look_up(self, chat: Chat, user: str) -> Person:
        """A person; without a name if LINE does not know them."""
        key = _profile(chat, user)
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                if (known := await self._kv.get(key)) is not None:
                    return _decode_person(known)
                try:
                    person, keep_s = await self._client.get_person(chat, user), DAY_S
                except Failure as failure:
                    log.info("line.profile_unknown", cause=str(failure))
                    person, keep_s = NOBODY, UNKNOWN_S
                self._kv.set_later(key, encode(person), keep_s)
                return person
        except (TimeoutError, StoreUnavailable):
            return NOBODY

    async def prepare(self, media: Media) -> None:
        """Wait until LINE has converted a recording, or cannot."""
        if media.name or kind_of(media.mime) not in RECORDINGS:
            return
        with suppress(TimeoutError, Failure):
            async with asyncio.timeout(FILE_S):
                await self._wait_for_recording(media.ref)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass on a file that somebody sent."""
        family = "" if media.name else kind_of(media.mime)
        timeout_s = None if family == "image" else FILE_S
        try:
            async with asyncio.timeout(timeout_s or PICTURE_S):
                while (
                    is_whole := await self._client.fetch_content(media.ref, family, take, timeout_s)
                ) is None:
                    await asyncio.sleep(POLL_S)
                    # Of recordings alone LINE says how far it is.
                    if family in RECORDINGS:
                        await self._wait_for_recording(media.ref)
                return is_whole
        except (TimeoutError, Failure) as error:
            log.info("media.not_fetched", cause=str(error) or "not in time")
            return False

    async def find_quoted(self, conversation: str, message_id: str) -> KnownQuote:
        """A message of ours, or a picture: LINE shows pictures by their id, even those that no
        event has brought."""
        try:
            if turn_id := await find_turn(self._kv, chat_of(conversation), message_id):
                return KnownQuote(turn_id)
            # Nothing of it is read.
            content = await self._client.fetch_content(message_id, "image", lambda _: False)
            if content is not None:
                return KnownQuote(picture=Media(message_id, PICTURE))
        except StoreUnavailable:
            return NOTHING_KNOWN
        except Failure as failure:
            log.info("media.not_found", cause=str(failure))
        return NOTHING_KNOWN

    async def _wait_for_recording(self, message_id: str) -> None:
        # LINE does not say when
        while not await self._sdk.is_prepared(message_id):  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)


def _profile(chat: Chat, user: str) -> str:
    """A name by which the value goes when the person is forgotten."""
    return (
        f"{'member' if chat.is_group else 'profile'}:{channel_named('line', chat.account)}:{user}"
    )


async def show_running(
    client: Client,
    chat: Chat,
    address: Address,
    renew_s: float = RENEW_S,
    show_after_s: float = SHOW_AFTER_S,
) -> None:
    """Mark the message as read, then show the loading animation; failures are logged."""
    try:
        if address.mark_as_read_token:
            await client.mark_as_read(address.mark_as_read_token)
    except Failure as failure:
        log.info("line.not_marked_as_read", cause=str(failure))
    try:
        await asyncio.sleep(show_after_s)
        while not chat.is_group:
            await client.start_loading(chat.id, LOADING_S)
            await asyncio.sleep(renew_s)
    except Failure as failure:
        log.info("line.loading_not_shown", cause=str(failure))
