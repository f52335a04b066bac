"""LINE's events, messages and account data, as far as the bot reads them, and the address of an
answer.

Webhooks: https://developers.line.biz/en/reference/messaging-api/#webhooks
Almost every field may be absent, and new kinds of events come without notice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Raw, Struct
from msgspec.json import Decoder

from bot.transcript import account_of, channel_named, encode

KINDS = {"U": "user", "C": "group", "R": "room"}  # by the first letter of an id
JSON = dict[str, Any]


class Chat(NamedTuple):
    """Where people talk; a push is addressed to ``id``.

    Attributes:
        account: of ours, in which it is; empty for the only one.
    """

    bot: str
    kind: str  # user, group or room
    id: str
    account: str = ""

    @property
    def conversation(self) -> str:
        """The conversation's id."""
        return f"{channel_named('line', self.account)}:{self.bot}:{self.kind}:{self.id}"

    @property
    def is_group(self) -> bool:
        """Whether several people talk here."""
        return self.kind != "user"


@lru_cache(4_096)
def chat_of(conversation: str) -> Chat:
    """The chat behind a conversation's id; a notice's lacks the kind, which the chat's id tells."""
    _, bot, *kind, chat = conversation.split(":", 3)
    return Chat(bot, kind[0] if kind else KINDS[chat[0]], chat, account_of(conversation))


def own_message(chat: Chat, message_id: str) -> str:
    """The name of what is stored of a message of ours: the turn that it answered."""
    return f"{channel_named('line', chat.account)}:own:{chat.kind}:{chat.id}:{message_id}"


class Address(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Where an answer goes.

    Attributes:
        received_at: when the event came in, or the event's own time if it is a redelivery;
            milliseconds since the epoch. The reply token's minute begins no later.
    """

    received_at: int = 0
    reply_token: str = ""
    quote_token: str = ""
    mark_as_read_token: str = ""


_decode_address = Decoder(Address).decode


def read_address(text: str) -> Address:
    """The address in its stored JSON; one without tokens if the text is empty, as a notice's is."""
    return _decode_address(text) if text else Address()


def write_address(address: Address) -> str:
    """The address as JSON, for the store."""
    return encode(address).decode()


LABEL = 20  # UTF-16 code units of a button


ACTION = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20}) (\S{0,200})")


def data_of(action: str, value: str) -> str:
    """The data of the postback that a button with an action sends."""
    return f"{action} {value}"


def action_of(label: str, text: str, data: str = "") -> JSON:
    """What a press of a button does.

    Args:
        label: 20 UTF-16 code units at most.
        text: what a press posts in the person's name; empty: nothing.
        data: of the postback that a press sends to the webhook; without it the webhook gets
            ``text`` as a message.
    """
    if not data:
        return {"type": "message", "label": label, "text": text}
    posted = {"displayText": text} if text else {}
    return {"type": "postback", "label": label, "data": data, **posted}


def read_action(data: str) -> tuple[str, str] | None:
    """The action and the value in a postback's data; None for a button that is not ours."""
    found = ACTION.fullmatch(data)
    return (found[1], found[2]) if found else None


class RichMenu(NamedTuple):
    """A menu below a chat: buttons of one width, side by side.

    Attributes:
        id: empty before LINE has it.
        name: nobody sees it.
        title: what opens and closes the menu, 14 characters at most.
        buttons: what each does.
    """

    id: str
    name: str
    title: str = ""
    buttons: Sequence[JSON] = ()
    width: int = 0
    height: int = 0


class Person(Struct, frozen=True):
    """A profile; ``language`` is a BCP 47 tag, and empty in groups."""

    name: str = ""
    language: str = ""


class Quota(Struct, frozen=True):
    """Messages pushed this month; ``limit`` is None if there is none."""

    limit: int | None
    used: int

    @property
    def percent(self) -> int:
        """The used part of the limit."""
        if self.limit is None:
            return 0
        return self.used * 100 // self.limit if self.limit else 100


class BotInfo(Struct, frozen=True):
    """The official account; ``is_chat_on``: people answer in LINE's own manager too, beside the
    bot."""

    user_id: str
    name: str
    basic_id: str
    is_chat_on: bool


class WebhookEndpoint(Struct, frozen=True):
    """Where LINE posts events; ``is_active`` is the switch “Use webhook” in LINE's console."""

    url: str
    is_active: bool


class WebhookTest(Struct, frozen=True):
    """The result of LINE's own test; ``status`` is our side's answer, 0 or less for none."""

    success: bool
    status: int
    reason: str
    detail: str


class Source(Struct, rename="camel"):
    """The origin of an event."""

    type: str = ""
    user_id: str | None = None
    group_id: str | None = None
    room_id: str | None = None

    def chat(self, bot: str, account: str) -> Chat | None:
        """The chat; None for an unknown kind."""
        chat = {"user": self.user_id, "group": self.group_id, "room": self.room_id}.get(self.type)
        return Chat(bot, self.type, chat, account) if chat else None


class Mentionee(Struct, rename="camel"):
    """A mention; ``index`` and ``length`` count UTF-16 code units of the text."""

    index: int = 0
    length: int = 0
    is_self: bool = False


class Mention(Struct):
    """The mentions of a text."""

    mentionees: list[Mentionee] = []


class ContentProvider(Struct):
    """Where a file is: on LINE's servers (``line``), or at a URL of the sender's choice
    (``external``)."""

    type: str = "line"


class ImageSet(Struct):
    """Images sent together: ``total`` of them. Older apps leave the number out."""

    id: str = ""
    total: int = 0


class Content(Struct, rename="camel"):
    """The message of an event, whatever its kind."""

    id: str = ""
    type: str = ""
    text: str | None = None
    quote_token: str | None = None
    quoted_message_id: str | None = None
    mark_as_read_token: str | None = None
    mention: Mention | None = None
    keywords: list[str] | None = None
    title: str | None = None
    address: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    image_set: ImageSet | None = None
    content_provider: ContentProvider | None = None
    file_name: str | None = None
    file_size: int | None = None


class Unsend(Struct, rename="camel"):
    """The id of an unsent message."""

    message_id: str = ""


class Member(Struct, rename="camel"):
    """Somebody in a group or room."""

    user_id: str | None = None


class Left(Struct):
    """The members who have left a group or room."""

    members: list[Member] = []


class Postback(Struct):
    """The data of a pressed button; a menu made in LINE's console sends its own."""

    data: str = ""


class DeliveryContext(Struct, rename="camel", frozen=True):
    """Whether LINE sends this event again, because it got no 200."""

    is_redelivery: bool = False


class Event(Struct, rename="camel"):
    """One event; ``timestamp`` is when it happened, in milliseconds, also when it is delivered
    again."""

    type: str = ""
    mode: str = "active"
    timestamp: int = 0
    source: Source | None = None
    webhook_event_id: str | None = None
    delivery_context: DeliveryContext = DeliveryContext()
    reply_token: str | None = None
    message: Content | None = None
    unsend: Unsend | None = None
    left: Left | None = None
    postback: Postback | None = None


class Webhook(Struct):
    """A body: events for the bot whose user id is ``destination``."""

    destination: str = "bot"
    events: list[Raw] = []
