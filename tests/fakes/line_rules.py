"""What the Messaging API refuses in a request, in its own words."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft7Validator

from tests.fakes.line_buttons import (
    quick_reply_errors,
    sender_errors,
    template_errors,
    text_errors,
    unknown,
)
from tests.fakes.line_flex import flex_errors
from tests.fakes.line_menus import menu_errors
from tests.fakes.line_refusals import Refused
from tests.shared_data import RECORDED

JSON = dict[str, Any]

MOST_MESSAGES = 5
MOST_UNITS = 5_000
TYPES = "text, image, video, audio, location, sticker, richmessage, template, imagemap"
BODIES = {
    "reply": ("ReplyMessageRequest", {"replyToken", "messages", "notificationDisabled"}),
    "push": (
        "PushMessageRequest",
        {"to", "messages", "notificationDisabled", "customAggregationUnits"},
    ),
    "loading": ("ShowLoadingAnimationRequest", {"chatId", "loadingSeconds"}),
    "mark": ("MarkMessagesAsReadByTokenRequest", {"markAsReadToken"}),
    "set": ("", {"endpoint"}),
    "test": ("", {"endpoint"}),
    "menu": ("", {"size", "selected", "name", "chatBarText", "areas"}),
}
IMAGE_FIELDS = {"type", "originalContentUrl", "previewImageUrl", "quickReply", "sender"}
URL_CAP = 2_000
TEXT_FIELDS = {"type", "text", "quoteToken", "emojis", "quickReply", "sender"}


def check(call: str, raw: bytes) -> JSON:
    """The body of a call.

    Raises:
        Refused: LINE does not take it.
    """
    try:
        body = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise Refused(400, "The request body could not be parsed as JSON") from error
    if not isinstance(body, dict):
        raise Refused(400, "The request body could not be parsed as JSON")
    errors = [*_own_errors(call, body), *_specified_errors(call, body)]
    if errors:
        raise Refused(400, f"The request body has {len(errors)} error(s)", errors)
    return body


def check_retry_key(call: str, key: str | None) -> None:
    """Refuse a retry key that is no UUID, or where none belongs.

    Raises:
        Refused: with LINE's text.
    """
    if key is None:
        return
    if call != "push":
        raise Refused(400, "The request with X-Line-Retry-Key is not supported by this endpoint")
    try:
        uuid.UUID(key)
    except ValueError as error:
        raise Refused(400, "Invalid X-Line-Retry-Key format") from error


def _own_errors(call: str, body: JSON) -> Iterator[tuple[str, str]]:
    _, known = BODIES[call]
    for name in sorted(body.keys() - known):
        yield "Unknown property", name
    if call in ("reply", "push"):
        yield from _message_errors(body.get("messages"))
    if call == "menu":
        yield from menu_errors(body)
    if call == "loading":
        seconds = body.get("loadingSeconds", 20)
        if not isinstance(seconds, int) or not 5 <= seconds <= 60 or seconds % 5:
            yield "Must be a multiple of 5 between 5 and 60", "loadingSeconds"
    if call == "set" and not str(body.get("endpoint", "")).startswith("https://"):
        yield "Invalid webhook endpoint URL", "endpoint"


def _message_errors(messages: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(messages, list) or not 1 <= len(messages) <= MOST_MESSAGES:
        yield f"Size must be between 1 and {MOST_MESSAGES}", "messages"
        return
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        yield from sender_errors(message.get("sender"), f"{where}.sender")
        if message.get("type") == "text":
            yield from text_errors(message.get("text"), MOST_UNITS, f"{where}.text")
            yield from unknown(message, TEXT_FIELDS, where)
        elif message.get("type") == "image":
            for name in ("originalContentUrl", "previewImageUrl"):
                url = message.get(name)
                if not isinstance(url, str) or not url.startswith("https://") or len(url) > URL_CAP:
                    yield "Must be a valid HTTPS URL", f"{where}.{name}"
            yield from unknown(message, IMAGE_FIELDS, where)
        elif message.get("type") == "template":
            yield from template_errors(message, where)
        elif message.get("type") == "flex":
            yield from flex_errors(message, where)
        else:
            yield f"Must be one of the following values: [{TYPES}]", f"{where}.type"
        if "quickReply" in message:
            yield from quick_reply_errors(message["quickReply"], f"{where}.quickReply")


def _specified_errors(call: str, body: JSON) -> Iterator[tuple[str, str]]:
    schema, _ = BODIES[call]
    specification = _specification()
    if schema and specification is not None:
        validator = Draft7Validator({"$ref": f"#/components/schemas/{schema}", **specification})
        for error in validator.iter_errors(body):
            yield error.message[:200], ".".join(map(str, error.absolute_path))


@cache
def _specification() -> JSON | None:
    """LINE's published specification, tightened, where it is at hand."""
    path = RECORDED.parent / "specs" / "line" / "messaging-api.strict-subset.json"
    return msgspec.json.decode(path.read_bytes(), type=dict) if path.is_file() else None
