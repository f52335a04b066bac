"""LINE behind the channels' Protocol: the parts of this package, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

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
    Place,
    Reach,
    Take,
    Validity,
)
from bot.channels.line import Config
from bot.channels.line.client import Client
from bot.channels.line.delivery import (
    MINUTE_MS,
    Allowance,
    OutboundMessage,
    PersonalAllowance,
    Sender,
)
from bot.channels.line.events import Reader
from bot.channels.line.files import Files
from bot.channels.line.formatting import Formatter, find_pictures
from bot.channels.line.inbound import PATH, WebhookReceiver
from bot.channels.line.lookups import People
from bot.channels.line.own_messages import OwnMessages
from bot.channels.line.presence import Presence
from bot.channels.line.sdk import Sdk
from bot.channels.line.types import (
    Appearance,
    chat_of,
    read_address,
    write_address,
)
from bot.channels.traffic import TrafficRecorder
from bot.errors import StoreUnavailable
from bot.live_events import Watcher
from bot.transcript import Media

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


class Line(Channel):
    """The channel of LINE (``bot.channels.Channel``); its connections end with the context.

    Args:
        clock: in place of the host's.
        timeout_s: of one request to LINE.
    """

    name = "line"
    style = STYLE

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        clock: Callable[[], int] | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        self._clock = clock = clock or host.clock
        token = config.line_channel_access_token.get_secret_value()
        shown = Appearance(config.line_sender_name, config.line_sender_icon_url)
        url, data_url = config.line_api_base_url, config.line_data_api_base_url
        self._client = Client(token, url, data_url, timeout_s, shown)
        self._sdk = Sdk(token, url, data_url, timeout_s)
        self._traffic = TrafficRecorder(host.kv, self.name, "LINE_CHANNEL_SECRET")
        self._people = People(self._client, host.kv)
        self._formatter = Formatter(host.texts, host.language)
        allowance = Allowance(self._sdk, host.kv, partial(host.notify, platform=self.name))
        personal = PersonalAllowance(host.may_use, config.line_daily_user_pushes)
        self._sender = Sender(
            self._client, host.kv, allowance, personal, config.line_push, clock=clock
        )
        self._files = Files(self._client, self._sdk)
        self._shown_files = host.files
        self.abilities = Abilities(
            shows_pictures=host.files.public_url.startswith("https://"),
            change_pause_s=CHANGE_PAUSE_S,
            expires=True,
        )
        self._presence = Presence(self._client)
        secret = config.line_channel_secret.get_secret_value()
        self._own_messages = OwnMessages(host.kv)
        own_messages = OwnMessages(host.priority_kv)
        self._receiver = WebhookReceiver(
            host.accept,
            secret,
            Reader(config),
            traffic=self._traffic,
            clock=clock,
            own_messages=own_messages,
        )

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._traffic.aclose()
        await self._client.__aexit__()
        await self._sdk.__aexit__()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook."""
        return (Route(PATH, self._receiver.answer, methods=["POST"]),)

    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """The message marked as read and, in 1:1, the loading animation; LINE shows no more."""
        return self._presence.live_view(chat_of(conversation), read_address(address))

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
        pictures, in_words = await find_pictures(reply, self._shown_files, is_late=is_late)
        messages = self._formatter.messages(reply, chat, pictures, in_words)
        is_free = reply.keep == "if_free"
        outbound = OutboundMessage(delivery, chat, address, messages, free=is_free)
        sent = await self._sender.send(outbound, assert_lease)
        # What tells somebody that they are forgotten must not leave their id here.
        if reply.keep == "always" or delivery.brings:
            self._own_messages.keep(chat, sent, delivery.turn_id)
        self._traffic.record_delivery(self._clock())

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
        self._people.prefetch(chat_of(conversation), author)

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        """Names of the authors, and in 1:1 their language."""
        return await self._people.enrich(conversation, arrivals)

    async def prepare(self, media: Media) -> None:
        """Wait for LINE to convert a recording."""
        await self._files.prepare(media)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass on a file that somebody sent."""
        return await self._files.fetch(media, take)

    async def find_quoted(self, conversation: str, message_id: str) -> KnownQuote:
        """A message of ours, or a picture: LINE shows pictures by their id, even those that no
        event has brought."""
        try:
            if turn_id := await self._own_messages.turn_of(chat_of(conversation), message_id):
                return KnownQuote(turn_id)
        except StoreUnavailable:
            return NOTHING_KNOWN
        return KnownQuote(picture=await self._files.find_picture(message_id))
