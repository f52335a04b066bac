"""What the Messaging API refuses in a request. Of its messages and parts those that Kaiwa sends:
https://developers.line.biz/en/reference/messaging-api/#messages

Lengths are UTF-16 units, as LINE counts texts. It counts labels in characters as people see them,
which are never more.
"""

from __future__ import annotations

import re
import uuid
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from tests.fakes.line_refusals import Refused

JSON = dict[str, Any]

CONFIRM_TEXT, LABEL = 240, 20
MOST_BUBBLE_BYTES, MOST_CAROUSEL_BYTES = 30_000, 50_000
BEYOND = re.compile("[\U00010000-\U0010ffff]")  # two units each
WORDS = r"\S"

Label = Annotated[str, Meta(max_length=LABEL, pattern=WORDS)]
Spoken = Annotated[str, Meta(max_length=300, pattern=WORDS)]
Alternative = Annotated[str, Meta(max_length=1_500, pattern=WORDS)]
Url = Annotated[str, Meta(max_length=2_000, pattern="^https://")]
Spacing = Literal["none", "xs", "sm", "md", "lg", "xl", "xxl"]


class Part(Struct, forbid_unknown_fields=True, rename="camel"):
    """What has no field that LINE does not know."""


class Typed(Part, tag=str.lower, tag_field="type"):
    """A part that says what it is."""


class Postback(Typed):
    label: Label
    data: Spoken
    display_text: Spoken | None = None


class Message(Typed):
    label: Label
    text: Spoken


Action = Postback | Message


class QuickButton(Typed, tag="action"):
    action: Action


class QuickReply(Part):
    items: Annotated[list[QuickButton], Meta(min_length=1, max_length=13)]


class Sender(Part):
    """https://developers.line.biz/en/reference/messaging-api/#icon-nickname-switch"""

    name: Annotated[str, Meta(max_length=20, pattern=r"^(?!.*[Ll][Ii][Nn][Ee]).*\S")] | None = None
    icon_url: Url | None = None


class Sent(Typed, kw_only=True):
    """Any message."""

    quick_reply: QuickReply | None = None
    sender: Sender | None = None


class Text(Sent):
    text: Annotated[str, Meta(max_length=5_000, pattern=WORDS)]
    quote_token: str | None = None


class Image(Sent):
    original_content_url: Url
    preview_image_url: Url


class Confirm(Typed):
    text: Annotated[str, Meta(max_length=CONFIRM_TEXT, pattern=WORDS)]
    actions: Annotated[list[Action], Meta(min_length=2, max_length=2)]


class Template(Sent):
    alt_text: Alternative
    template: Confirm


class Line(Typed, tag="text"):
    """Words in a bubble; how many is our own bound, LINE's is the bubble's."""

    text: Annotated[str, Meta(max_length=2_000, pattern=WORDS)]
    size: Literal["xxs", "xs", "sm", "md", "lg", "xl", "xxl", "3xl", "4xl", "5xl"] = "md"
    weight: Literal["regular", "bold"] = "regular"
    wrap: bool = False
    flex: int = 0


class Row(Typed, tag="box"):
    layout: Literal["horizontal"]
    contents: Annotated[list[Line], Meta(min_length=1)]
    spacing: Spacing = "none"


class Button(Typed):
    action: Action
    style: Literal["primary", "secondary", "link"] = "link"
    height: Literal["sm", "md"] = "md"


class Box(Typed):
    layout: Literal["vertical"]
    contents: Annotated[list[Line | Row | Button], Meta(min_length=1)]
    spacing: Spacing = "none"


class Bubble(Typed):
    body: Box
    footer: Box | None = None


class Carousel(Typed):
    contents: Annotated[list[Bubble], Meta(min_length=1, max_length=12)]


class Flex(Sent):
    alt_text: Alternative
    contents: Bubble | Carousel


Messages = Annotated[list[Text | Image | Template | Flex], Meta(min_length=1, max_length=5)]


class Reply(Part):
    reply_token: str
    messages: Messages


class Push(Part):
    to: str
    messages: Messages


class Loading(Part):
    chat_id: str
    loading_seconds: Annotated[int, Meta(ge=5, le=60, multiple_of=5)] = 20


class Mark(Part):
    mark_as_read_token: str


class Endpoint(Part):
    endpoint: Annotated[str, Meta(pattern="^https://")]


class Tested(Part):
    endpoint: str | None = None


class Size(Part):
    width: Annotated[int, Meta(ge=800, le=2_500)]
    height: Annotated[int, Meta(ge=250)]


class Bounds(Size):
    x: int
    y: int
    width: int
    height: int


class Area(Part):
    bounds: Bounds
    action: Action


class Menu(Part):
    """https://developers.line.biz/en/reference/messaging-api/#rich-menu"""

    size: Size
    selected: bool
    name: Annotated[str, Meta(max_length=300, pattern=WORDS)]
    chat_bar_text: Annotated[str, Meta(max_length=14, pattern=WORDS)]
    areas: Annotated[list[Area], Meta(max_length=20)]


BODIES: dict[str, type[Part]] = {
    "reply": Reply,
    "push": Push,
    "loading": Loading,
    "mark": Mark,
    "set": Endpoint,
    "test": Tested,
    "menu": Menu,
}


def units(text: str) -> int:
    """Length in UTF-16 code units, as LINE counts."""
    return len(text) + len(BEYOND.findall(text))


def check(call: str, raw: bytes) -> JSON:
    """The body of a call.

    Raises:
        Refused: LINE does not take it.
    """
    try:
        body: JSON = msgspec.json.decode(raw)
        counted = BEYOND.sub("xx", msgspec.json.encode(body).decode())
        msgspec.json.decode(counted, type=BODIES[call])
    except msgspec.DecodeError as error:
        raise Refused(400, f"The request body has 1 error(s): {error}") from error
    if any(_is_too_large(message) for message in body.get("messages", ())):
        raise Refused(400, "The request body has 1 error(s): a message is too large")
    return body


def _is_too_large(message: JSON) -> bool:
    contents = message.get("contents", {})
    bubbles = contents.get("contents", [contents])
    return _bytes(contents) > MOST_CAROUSEL_BYTES or any(
        _bytes(bubble) > MOST_BUBBLE_BYTES for bubble in bubbles
    )


def _bytes(container: JSON) -> int:
    return len(msgspec.json.encode(container))


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
