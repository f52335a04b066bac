"""The webhook: signature over the raw body, JSON, then events for the inbox, stored before the 200.

Events are decoded one by one: an event that cannot be read does not cost the others.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog
from msgspec import DecodeError
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from bot.channels import STICKER, Album, Host, InboundEvent, KeyValue
from bot.channels.line.types import (
    Address,
    Chat,
    Content,
    DeliveryContext,
    Event,
    ImageSet,
    Mentionee,
    Source,
    Webhook,
    own_message,
    read_action,
    write_address,
)
from bot.channels.traffic import TrafficRecorder
from bot.errors import StoreUnavailable
from bot.file_types import MOST_BYTES, kind_of, type_of
from bot.http import read_body
from bot.safe_text.glyphs import safe_name
from bot.transcript import Author, Media, Message, Part, Text, encode
from toolset.web.decoding import decode_json

if TYPE_CHECKING:
    from bot.channels.line import Config


from collections.abc import Iterable
from typing import Literal

log = structlog.stdlib.get_logger(__name__)

PATH = "/webhooks/line"
RETRY_AFTER_S = "2"
DAY_MS = 86_400_000
MOST_MEMBERS = 500  # of a group, by LINE's own limit
RECORDINGS = {
    "image": "image/jpeg",
    "audio": "audio/mp4",
    "video": "video/mp4",
}  # LINE converts what people send
NOWHERE = Source()
NOTHING = Content()
NO_ALBUM = ImageSet()
FIRST_TIME = DeliveryContext()


# What a sticker says: LINE describes it by up to 15 English keywords, in no order.
# https://developers.line.biz/en/reference/messaging-api/#wh-sticker
Courtesy = Literal["", "thanks", "hello", "agreed", "night", "bye"]

KEYWORDS: dict[Courtesy, str] = {
    "thanks": "thanks, thank you, thankyou, thx, grateful, gratitude, appreciate, arigato",
    "hello": ("hello, hi, hey, howdy, greetings, greeting, whatsup, good morning, morning"),
    "agreed": "ok, okay, got it, gotcha, roger, understood, agree, agreed, sure",
    "night": "good night, goodnight, nighty night, sweet dreams",
    "bye": "bye, goodbye, bye bye, see you, see ya, farewell",
}
ASKING = "question, question mark, what, why, help, confused, please, huh, where, when"


class WebhookReceiver:
    """The webhook endpoint."""

    def __init__(self, config: Config, host: Host, traffic: TrafficRecorder) -> None:
        self._config = config
        self._secret = config.line_channel_secret.get_secret_value()
        self._host = host
        self._traffic = traffic

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await read_body(request)
        if body is None:
            return Response(status_code=413)
        received_at = self._host.clock()
        if not is_signed(self._secret, request.headers, body):
            self._traffic.record("bad_signature", received_at)
            return Response(status_code=400)
        try:
            body.decode()  # events are decoded later, but broken UTF-8 spoils the whole body
            webhook = decode_json(body, Webhook)
        except ValueError as error:
            log.warning("webhook.unreadable", cause=str(error))
            return Response(status_code=400)
        self._traffic.record("webhook", received_at)
        try:
            await self._accept_events(webhook, received_at)
        except StoreUnavailable:
            self._traffic.record("refused", received_at)
            return Response(status_code=503, headers={"Retry-After": RETRY_AFTER_S})
        return Response()

    async def _accept_events(self, webhook: Webhook, received_at: int) -> None:
        for raw in webhook.events:
            try:
                event = decode_json(bytes(raw), Event)
            except DecodeError as error:
                log.warning("webhook.event_unreadable", cause=str(error))
                continue
            if event.delivery_context.is_redelivery:
                self._traffic.record("redelivery", received_at)
            chat = (event.source or NOWHERE).chat(webhook.destination, self._host.account)
            arrival = read_event(self._config, event, chat, received_at) if chat else None
            if not (chat and arrival):
                continue
            # To quote the bot is to call it. No turn uses this connection to the store.
            if arrival.unmentioned and arrival.quotes:
                turn_id = await find_turn(self._host.priority_kv, chat, arrival.quotes)
                arrival = replace(arrival, unmentioned=not turn_id)
            await self._host.accept(chat.conversation, arrival)


def path_of(account: str) -> str:
    """The path of an account's webhook."""
    return f"{PATH}/{account}" if account else PATH


async def find_turn(kv: KeyValue, chat: Chat, message_id: str) -> str:
    """The turn that one of our messages answered; empty for any other message.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    return (await kv.get(own_message(chat, message_id)) or b"").decode()


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether LINE signed this body with the channel secret."""
    expected = base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256))
    return hmac.compare_digest(expected, headers.get("x-line-signature", "").encode())


def read_event(config: Config, event: Event, chat: Chat, received_at: int) -> InboundEvent | None:
    """The event for the inbox; None for an event that is not for the bot.

    Args:
        received_at: milliseconds since the epoch.
    """
    user = event.source.user_id if event.source else None
    is_again = event.delivery_context.is_redelivery
    # A redelivered event without a timestamp happened at an unknown time.
    at = event.timestamp or (0 if is_again else received_at)
    message = Message(
        event.webhook_event_id or _hash_of(event),
        "user",
        (),
        max(at, 0),
        author=Author(user) if user else None,
    )
    # Without text, and under the event's own id, which is not the message's.
    bare = InboundEvent(message, group=chat.is_group)
    content = event.message or NOTHING
    # Deletions and edits get no answer, so neither standby nor an allow-list holds them up.
    match event.type:
        case "unsend":
            unsent = event.unsend.message_id if event.unsend else ""
            return replace(bare, event="unsent", target=unsent) if unsent else None
        case "unfollow" | "leave":
            return replace(bare, event="left")
        case "memberLeft":
            return _departure(event, bare)
        case "messageEdited":
            return _edit(content, bare)
    pressed = event.postback.data if event.type == "postback" and event.postback else ""
    action = read_action(pressed) if pressed else None
    is_known = action or event.type in ("message", "follow", "join")
    if event.mode == "standby" or not is_known:
        return None
    # A redelivered event brings the token of the first delivery, whose minute began then.
    began = min(event.timestamp, received_at) if is_again and event.timestamp else received_at
    answerable = _with_address(event, content, bare, began)
    if not _is_allowed(config, event, chat):
        # Once a day: the inbox takes an id once.
        refusal = f"not_allowed_{received_at // DAY_MS}"
        answerable = replace(answerable, message=replace(answerable.message, id=refusal))
        return None if chat.is_group else _canned(answerable, "not_allowed")
    if action:
        name, value = action
        return replace(answerable, event="action", action=name, target=value)
    if event.type != "message":
        return _canned(answerable, "greeting")
    return _message(content, answerable)


def _is_allowed(config: Config, event: Event, chat: Chat) -> bool:
    groups, users = config.allowed_groups, config.allowed_users
    if chat.is_group and groups and chat.id not in groups:
        return False
    # A group's own event (join) has no author.
    user = event.source.user_id if event.source else None
    return not users or user in users or event.type == "join"


def _with_address(
    event: Event, content: Content, bare: InboundEvent, token_since: int
) -> InboundEvent:
    """An event under its message's own id, with the address of its answer."""
    address = Address(
        received_at=token_since,
        reply_token=event.reply_token or "",
        quote_token=content.quote_token or "",
        mark_as_read_token=content.mark_as_read_token or "",
    )
    images = content.image_set or NO_ALBUM
    return replace(
        bare,
        message=replace(bare.message, id=content.id or bare.message.id),
        address=write_address(address),
        album=Album(images.id, images.total) if images.id else None,
    )


def _message(content: Content, bare: InboundEvent) -> InboundEvent | None:
    parts = _parts(content)
    called = text_for_bot(content) if bare.group else None
    if called is not None:
        parts = (Text(called),)
    unmentioned = bare.group and called is None
    if unmentioned and not parts:
        return None
    if not parts:
        kind = content.type if content.type in ("video", "audio", "file") else "other"
        return _canned(bare, f"kind_{kind}")
    said = courtesy_of(content.keywords or ()) if content.type == "sticker" else ""
    return replace(
        bare,
        message=replace(bare.message, parts=parts),
        action=f"{STICKER}{said}" if said else "",
        quotes=content.quoted_message_id or "",
        unmentioned=unmentioned,
    )


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
    pieces: list[bytes] = []
    end = 0
    for mention in sorted(mentions, key=lambda mention: mention.index):
        start = max(mention.index, 0) * 2
        pieces.append(units[end:start])
        end = max(end, start + max(mention.length, 0) * 2)
    pieces.append(units[end:])
    words = (piece.decode("utf-16-le", "ignore").strip() for piece in pieces)
    return " ".join(filter(None, words))


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


def _edit(content: Content, bare: InboundEvent) -> InboundEvent | None:
    text = content.text or ""
    if bare.group:
        text = text_for_bot(content) or text
    if not text or not content.id:
        return None
    message = replace(bare.message, parts=(Text(text),))
    return replace(bare, message=message, event="edited", target=content.id)


def _departure(event: Event, bare: InboundEvent) -> InboundEvent | None:
    """Members who have left a group or room, as far as LINE names them."""
    if event.left is None or not bare.group:
        return None
    members = event.left.members[:MOST_MEMBERS]
    leavers = " ".join(member.user_id for member in members if member.user_id)
    return replace(bare, event="members_left", target=leavers) if leavers else None


def _canned(answerable: InboundEvent, key: str) -> InboundEvent:
    return replace(answerable, event="canned", target=f"line.{key}")


def _hash_of(event: Event) -> str:
    """An id in place of LINE's: a hash of the fields that are the same in a redelivery."""
    same = replace(event, reply_token=None, delivery_context=FIRST_TIME)
    return f"event_{hashlib.sha256(encode(same)).hexdigest()[:32]}"


def courtesy_of(keywords: Iterable[str]) -> Courtesy:
    """The courtesy that most keywords name; empty where they name none, or rather ask for
    something."""
    named = {keyword.strip().lower() for keyword in keywords}
    if not named.isdisjoint(ASKING.split(", ")):
        return ""
    found = {each: len(named.intersection(words.split(", "))) for each, words in KEYWORDS.items()}
    best = max(KEYWORDS, key=lambda courtesy: found[courtesy])
    return best if found[best] else ""
