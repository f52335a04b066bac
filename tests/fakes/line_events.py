"""What LINE posts to a webhook: events in its form, and their signature."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from typing import Any

JSON = dict[str, Any]

SECRET = "0123456789abcdef0123456789abcdef"
TOKEN = "test-channel-access-token"
CHANNEL = "1234567890"
BOT = "U" + "b" * 32
USER = "U" + "1" * 32
GROUP = "C" + "a" * 32
ROOM = "R" + "c" * 32
KINDS = {"U": "user", "C": "group", "R": "room"}


def source(place: str, user: str | None) -> JSON:
    """Where an event comes from; the first letter of an id tells its kind."""
    kind = KINDS[place[0]]
    return {"type": kind, f"{kind}Id": place} | ({"userId": user} if user else {})


def event(kind: str = "message", place: str = USER, user: str | None = USER, **fields: Any) -> JSON:
    """An event as LINE sends it; what it is about stands in ``fields``."""
    common: JSON = {
        "type": kind,
        "mode": "active",
        "timestamp": time.time_ns() // 1_000_000,
        "source": source(place, user),
        "webhookEventId": f"01{secrets.token_hex(12).upper()}",
        "deliveryContext": {"isRedelivery": False},
    }
    return common | fields


def unsend(spoken: JSON) -> JSON:
    """The event of a message being taken back by its author."""
    taken_back = {"messageId": spoken["message"]["id"]}
    return event("unsend") | {"source": spoken["source"], "unsend": taken_back}


def again(event: JSON) -> JSON:
    """An event that LINE delivers again."""
    return event | {"deliveryContext": {"isRedelivery": True}}


def text_message(text: str, **fields: Any) -> JSON:
    """A text message, without mentions unless they are given."""
    return {
        "id": message_id(),
        "type": "text",
        "text": text,
        "quoteToken": secrets.token_urlsafe(16),
        **fields,
    }


def mention(text: str, mentioned: str, *, is_self: bool = True) -> JSON:
    """The mention of a text's part, counted as LINE counts."""
    before, found, _ = text.partition(mentioned)
    assert found, (text, mentioned)
    place = {"index": utf16(before), "length": utf16(mentioned)}
    return {
        "mentionees": [
            {"type": "user", **place, "isSelf": is_self} | ({"userId": BOT} if is_self else {})
        ]
    }


def addressed_message(words: str, name: str = "@Kaiwa", **fields: Any) -> JSON:
    """A text message that mentions the bot first."""
    text = f"{name} {words}".strip()
    return text_message(text, mention=mention(text, name), **fields)


def message_id() -> str:
    """A fresh id of digits."""
    return str(10**17 + secrets.randbelow(10**17))


def utf16(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def signature(body: bytes, secret: str = SECRET) -> str:
    """What stands in ``X-Line-Signature``."""
    return base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256)).decode()


def webhook(*events: JSON, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    """A signed body, and its headers; unlike msgspec, ``json`` also writes half a surrogate
    pair."""
    return signed(json.dumps({"destination": BOT, "events": events}).encode(), secret)


def signed(body: bytes, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    """Any body, and the headers of a genuine request."""
    headers = {
        "X-Line-Signature": signature(body, secret),
        "Content-Type": "application/json; charset=utf-8",
    }
    return body, headers
