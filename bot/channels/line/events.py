"""From LINE's event to an inbox event, without any I/O."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from bot.channels import STICKER, Album, InboundEvent
from bot.channels.line import Config
from bot.channels.line.stickers import courtesy_of
from bot.channels.line.types import (
    Address,
    Chat,
    Content,
    DeliveryContext,
    Event,
    ImageSet,
    Mentionee,
    read_action,
    write_address,
)
from bot.file_types import MOST_BYTES, kind_of, type_of
from bot.safe_text.names import safe_name
from bot.transcript import Author, Media, Message, Part, Text, encode

DAY_MS = 86_400_000
MOST_MEMBERS = 500  # of a group, by LINE's own limit
RECORDINGS = {
    "image": "image/jpeg",
    "audio": "audio/mp4",
    "video": "video/mp4",
}  # LINE converts what people send
NOTHING = Content()
NO_ALBUM = ImageSet()
FIRST_TIME = DeliveryContext()


class Reader:
    """Turns LINE's events into inbox events."""

    def __init__(self, config: Config) -> None:
        self._users = frozenset(config.allowed_users)
        self._groups = frozenset(config.allowed_groups)

    def read_event(
        self, bot: str, event: Event, received_at: int
    ) -> tuple[str, InboundEvent] | None:
        """The conversation and the inbox event; None for an event that is not for the bot.

        Args:
            bot: the bot's own user id.
            received_at: milliseconds since the epoch.
        """
        chat = event.source.chat(bot) if event.source else None
        if chat is None:
            return None
        arrival = self._read(event, chat, received_at)
        if arrival is None:
            return None
        return chat.conversation, arrival

    def _read(self, event: Event, chat: Chat, received_at: int) -> InboundEvent | None:
        content = event.message or NOTHING
        # Deletions and edits get no answer, so neither standby nor an allow-list holds them up.
        if event.type == "unsend":
            if not (event.unsend and event.unsend.message_id):
                return None
            unsent = event.unsend.message_id
            return replace(_bare_event(event, chat, received_at), event="unsent", target=unsent)
        if event.type in ("unfollow", "leave"):
            return replace(_bare_event(event, chat, received_at), event="left")
        if event.type == "memberLeft":
            return _departure(event, chat, received_at)
        if event.type == "messageEdited":
            return _edit(event, content, chat, received_at)
        pressed = event.postback.data if event.type == "postback" and event.postback else ""
        action = read_action(pressed)
        is_known = action or event.type in ("message", "follow", "join")
        if event.mode == "standby" or not is_known:
            return None
        if not self._is_allowed(event, chat):
            if chat.is_group:
                return None
            return _canned(event, chat, received_at, "not_allowed", is_daily=True)
        if action:
            name, value = action
            pressing = _message_event(event, chat, received_at, ())
            return replace(pressing, event="action", action=name, target=value)
        if event.type != "message":
            return _canned(event, chat, received_at, "greeting")
        return _message(event, content, chat, received_at)

    def _is_allowed(self, event: Event, chat: Chat) -> bool:
        user = event.source.user_id if event.source else None
        if chat.is_group and self._groups and chat.id not in self._groups:
            return False
        # A group's own event (join) has no author.
        return not self._users or user in self._users or event.type == "join"


def text_for_bot(content: Content) -> str | None:
    """The text without the mention of the bot; None if the bot is not mentioned."""
    text = content.text or ""
    if content.mention is None:
        return None
    mentions = [mentionee for mentionee in content.mention.mentionees if mentionee.is_self]
    if not mentions:
        return None
    # A bare mention calls the bot too: then the mention is the text.
    return _without(text, mentions) or text


def _without(text: str, mentions: list[Mentionee]) -> str:
    units = text.encode("utf-16-le")
    pieces: list[str] = []
    end = len(units)
    for mention in sorted(mentions, key=lambda mention: mention.index, reverse=True):
        start = max(mention.index, 0) * 2
        pieces.append(
            units[start + max(mention.length, 0) * 2 : end].decode("utf-16-le", "ignore").strip()
        )
        end = min(start, end)
    pieces.append(units[:end].decode("utf-16-le", "ignore").strip())
    return " ".join(filter(None, reversed(pieces)))


def _message(event: Event, content: Content, chat: Chat, received_at: int) -> InboundEvent | None:
    parts, quoted = _parts(content), content.quoted_message_id or ""
    called = text_for_bot(content) if chat.is_group else None
    if called is not None:
        parts = (Text(called),)
    unmentioned = chat.is_group and called is None
    if unmentioned and not parts:
        return None
    if not parts:
        kind = content.type if content.type in ("video", "audio", "file") else "other"
        return _canned(event, chat, received_at, f"kind_{kind}")
    said = courtesy_of(content.keywords or ()) if content.type == "sticker" else ""
    action = f"{STICKER}{said}" if said else ""
    read = _message_event(event, chat, received_at, parts)
    return replace(read, action=action, quotes=quoted, unmentioned=unmentioned)


def _parts(content: Content) -> tuple[Part, ...]:
    """The parts of a message that a model can read."""
    if content.type == "text":
        return (Text(content.text),) if content.text else ()
    if content.type == "sticker":
        return (Text(_bracketed("sticker", [content.text, *(content.keywords or ())])),)
    if content.type == "location":
        where = [content.title, content.address, f"{content.latitude}, {content.longitude}"]
        return (Text(_bracketed("location", where)),)
    # What is not on LINE's servers is at a URL of the sender's choice: it is not fetched.
    is_ours = content.content_provider is None or content.content_provider.type == "line"
    media = _media(content) if content.id and is_ours else None
    return (media,) if media else ()


def _media(content: Content) -> Media | None:
    """The picture, recording or file of a message, if it can be read."""
    if content.type != "file":
        mime = RECORDINGS.get(content.type, "")
        return Media(content.id, mime) if mime else None
    name, size = content.file_name or "", max(content.file_size or 0, 0)
    mime = type_of(name)
    if not mime or size > MOST_BYTES[kind_of(mime)]:
        return None
    return Media(content.id, mime, size, name=safe_name(name) or "file")


def _bracketed(kind: str, details: list[str | None]) -> str:
    text = ", ".join(filter(None, details))
    return f"[{kind}: {text}]" if text else f"[{kind}]"


def _edit(event: Event, content: Content, chat: Chat, received_at: int) -> InboundEvent | None:
    text = content.text or ""
    if chat.is_group:
        text = text_for_bot(content) or text
    if not text or not content.id:
        return None
    bare = _bare_event(event, chat, received_at)
    message = replace(bare.message, parts=(Text(text),))
    return replace(bare, message=message, event="edited", target=content.id)


def _departure(event: Event, chat: Chat, received_at: int) -> InboundEvent | None:
    """Members who have left a group or room, as far as LINE names them."""
    if event.left is None or not chat.is_group:
        return None
    members = event.left.members[:MOST_MEMBERS]
    leavers = " ".join(member.user_id for member in members if member.user_id)
    if not leavers:
        return None
    return replace(_bare_event(event, chat, received_at), event="members_left", target=leavers)


def _canned(
    event: Event, chat: Chat, received_at: int, key: str, *, is_daily: bool = False
) -> InboundEvent:
    """A canned answer. One that comes once a day has an id of its own, which the inbox takes
    once."""
    arrival = _message_event(event, chat, received_at, ())
    if is_daily:
        arrival = replace(
            arrival, message=replace(arrival.message, id=f"{key}_{received_at // DAY_MS}")
        )
    return replace(arrival, event="canned", target=f"line.{key}")


def _message_event(
    event: Event, chat: Chat, received_at: int, parts: tuple[Part, ...]
) -> InboundEvent:
    """A message under its own id, with the address of its answer."""
    bare = _bare_event(event, chat, received_at)
    content = event.message or NOTHING
    address = Address(
        received_at=_token_since(event, received_at),
        reply_token=event.reply_token or "",
        quote_token=content.quote_token or "",
        mark_as_read_token=content.mark_as_read_token or "",
    )
    message = replace(bare.message, id=content.id or bare.message.id, parts=parts)
    images = content.image_set or NO_ALBUM
    album = Album(images.id, images.total) if images.id else None
    return replace(
        bare,
        message=message,
        address=write_address(address),
        album=album,
    )


def _token_since(event: Event, received_at: int) -> int:
    """When the reply token's minute began: a redelivered event brings the token of the first
    delivery."""
    comes_again = event.delivery_context.is_redelivery and event.timestamp
    return min(event.timestamp, received_at) if comes_again else received_at


def _bare_event(event: Event, chat: Chat, received_at: int) -> InboundEvent:
    """An event without text, under the event's own id, which is not the message's."""
    user = event.source.user_id if event.source else None
    author = Author(user) if user else None
    # A redelivered event without a timestamp happened at an unknown time.
    at = event.timestamp or (0 if event.delivery_context.is_redelivery else received_at)
    message = Message(_event_id(event), "user", (), max(at, 0), author=author)
    return InboundEvent(message, group=chat.is_group)


def _event_id(event: Event) -> str:
    """LINE's id, else a hash of the fields that are the same in a redelivery."""
    if event.webhook_event_id:
        return event.webhook_event_id
    same = replace(event, reply_token=None, delivery_context=FIRST_TIME)
    return f"event_{hashlib.sha256(encode(same)).hexdigest()[:32]}"
