"""What LINE posts to the webhook, as far as it is read: https://developers.line.biz/en/reference/messaging-api/#webhooks

Almost every field may be absent, and new kinds of events come without notice. So the body is read in two steps: an
event that cannot be read costs itself, not its neighbours.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import NoReturn

import structlog
from msgspec import DecodeError, Raw, Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.channels.line.address import Place

log = structlog.stdlib.get_logger(__name__)


class Source(Struct, rename="camel"):
    """Where an event comes from."""

    type: str = ""
    user_id: str | None = None
    group_id: str | None = None
    room_id: str | None = None

    def place(self, bot: str) -> Place | None:
        """The chat, where it can be told."""
        chat = {"user": self.user_id, "group": self.group_id, "room": self.room_id}.get(self.type)
        return Place(bot, self.type, chat) if chat else None


class Mentionee(Struct, rename="camel"):
    """Somebody mentioned; ``index`` and ``length`` count UTF-16 code units of the text."""

    index: int = 0
    length: int = 0
    is_self: bool = False


class Mention(Struct):
    """Everybody mentioned in a text."""

    mentionees: list[Mentionee] = []


class ContentProvider(Struct):
    """Who keeps a file: ``line``, or ``external`` at an address of somebody's choice."""

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
    mark_as_read_token: str | None = None
    mention: Mention | None = None
    keywords: list[str] | None = None
    title: str | None = None
    address: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    image_set: ImageSet | None = None
    content_provider: ContentProvider | None = None


class Unsend(Struct, rename="camel"):
    """The message somebody has taken back."""

    message_id: str = ""


class Postback(Struct):
    """What comes of a pressed button: the data we gave it, or those of a menu made elsewhere."""

    data: str = ""


class DeliveryContext(Struct, rename="camel", frozen=True):
    """Whether LINE has posted this event before, and got no 200."""

    is_redelivery: bool = False


class Event(Struct, rename="camel"):
    """One event; ``timestamp`` is when it happened, in milliseconds, also when it is delivered again."""

    type: str = ""
    mode: str = "active"
    timestamp: int = 0
    source: Source | None = None
    webhook_event_id: str | None = None
    delivery_context: DeliveryContext = DeliveryContext()
    reply_token: str | None = None
    message: Content | None = None
    unsend: Unsend | None = None
    postback: Postback | None = None


class Webhook(Struct):
    """A body: events for the bot whose user id is ``destination``."""

    destination: str = "bot"
    events: list[Raw] = []


_decode_webhook = Decoder(Webhook).decode
_decode_event = Decoder(Event).decode


def is_signed(secret: bytes, body: bytes, signature: str) -> bool:
    """Whether a body was signed with the channel secret."""
    expected = base64.b64encode(hmac.digest(secret, body, hashlib.sha256))
    return hmac.compare_digest(expected, signature.encode())


def read_webhook(body: bytes) -> Webhook:
    """The body's outside.

    Raises:
        ValueError: it is not JSON in UTF-8, or not of a webhook's form.
    """
    text = body.decode()  # the events are decoded one by one, but a broken encoding is the whole body's fault
    try:
        return _decode_webhook(body)
    except ValidationError:
        raise
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except DecodeError:
        return _apart(text)


def _apart(text: str) -> Webhook:
    r"""The body with each event written anew: half a character (``\ud83d`` alone) is no JSON to msgspec anywhere.

    Raises:
        ValueError: that is not all that is wrong.
    """
    try:
        found = json.loads(text, parse_constant=_no_number)
        return convert({**found, "events": [Raw(json.dumps(event).encode()) for event in found["events"]]}, Webhook)
    except (TypeError, LookupError, RecursionError) as error:
        raise ValueError("not of a webhook's form") from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def events_of(webhook: Webhook) -> Iterator[Event]:
    """The events that can be read, in order."""
    for raw in webhook.events:
        try:
            yield _decode_event(raw)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            log.warning("webhook.event_unreadable", cause=str(error))
