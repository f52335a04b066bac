"""What LINE refuses in Flex Messages:
https://developers.line.biz/en/reference/messaging-api/#flex-message

Of the containers and components those that Kaiwa uses: bubbles, alone or in a carousel, vertical
boxes of texts, of rows and of buttons. A row is a horizontal box of texts.
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.line_buttons import ALT_TEXT, JSON, Errors, action_errors, text_errors, unknown

FLEX_FIELDS = {"type", "altText", "contents", "quickReply", "sender"}
BUBBLE_FIELDS = {
    "type",
    "direction",
    "size",
    "header",
    "hero",
    "body",
    "footer",
    "styles",
    "action",
}
BOX_FIELDS = {"type", "layout", "contents", "spacing", "margin", "flex"}
TEXT_FIELDS = {
    "type",
    "text",
    "size",
    "weight",
    "color",
    "wrap",
    "margin",
    "align",
    "maxLines",
    "flex",
}
BUTTON_FIELDS = {"type", "action", "style", "height", "color", "margin", "flex"}
MOST_BYTES, MOST_CAROUSEL_BYTES = 30_000, 50_000  # of a bubble and of a carousel as JSON
MOST_BUBBLES = 12
MOST_TEXT = 2_000  # our own bound: LINE's is that of the bubble
SIZES = {"xxs", "xs", "sm", "md", "lg", "xl", "xxl", "3xl", "4xl", "5xl"}
SPACINGS = {"none", "xs", "sm", "md", "lg", "xl", "xxl"}


def flex_errors(message: JSON, where: str) -> Errors:
    """A Flex Message with one bubble, or with several."""
    yield from unknown(message, FLEX_FIELDS, where)
    yield from text_errors(message.get("altText"), ALT_TEXT, f"{where}.altText")
    contents = message.get("contents")
    if not isinstance(contents, dict) or contents.get("type") != "carousel":
        yield from _bubble_errors(contents, f"{where}.contents")
        return
    yield from unknown(contents, {"type", "contents"}, f"{where}.contents")
    bubbles = contents.get("contents")
    if not isinstance(bubbles, list) or not 1 <= len(bubbles) <= MOST_BUBBLES:
        yield f"Size must be between 1 and {MOST_BUBBLES}", f"{where}.contents.contents"
        return
    if _size(contents) > MOST_CAROUSEL_BYTES:
        yield "A message (messages[0]) in the request body is too large", f"{where}.contents"
    for index, bubble in enumerate(bubbles):
        yield from _bubble_errors(bubble, f"{where}.contents.contents[{index}]")


def flex_words(message: JSON) -> str:
    """What people read in bubbles, a line for each text and each row."""
    boxes = [bubble.get(name, {}) for bubble in _bubbles(message) for name in ("header", "body")]
    return "\n".join(_read(part) for box in boxes for part in box.get("contents", ()))


def flex_actions(message: JSON) -> list[JSON]:
    """What can be pressed."""
    parts = (
        part
        for bubble in _bubbles(message)
        for part in bubble.get("footer", {}).get("contents", ())
    )
    return [part["action"] for part in parts if part["type"] == "button"]


def _bubbles(message: JSON) -> list[JSON]:
    contents: JSON = message.get("contents", {})
    return contents["contents"] if contents.get("type") == "carousel" else [contents]


def _read(part: JSON) -> str:
    return (
        str(part["text"])
        if part["type"] == "text"
        else " | ".join(cell["text"] for cell in part["contents"])
    )


def _bubble_errors(bubble: Any, where: str) -> Errors:
    if not isinstance(bubble, dict) or bubble.get("type") != "bubble":
        yield "Must be one of the following values: [bubble]", f"{where}.type"
        return
    yield from unknown(bubble, BUBBLE_FIELDS, where)
    if _size(bubble) > MOST_BYTES:
        yield "A message (messages[0]) in the request body is too large", where
    blocks = [name for name in ("header", "body", "footer") if name in bubble]
    if not blocks:
        yield "At least one block must be specified", where
    for name in blocks:
        yield from _box_errors(bubble[name], f"{where}.{name}")


def _size(container: JSON) -> int:
    return len(json.dumps(container, ensure_ascii=False).encode())


def _box_errors(box: Any, where: str, layout: str = "vertical") -> Errors:
    if not isinstance(box, dict) or box.get("type") != "box" or box.get("layout") != layout:
        yield f"Must be one of the following values: [{layout}]", f"{where}.layout"
        return
    yield from unknown(box, BOX_FIELDS, where)
    if box.get("spacing", "none") not in SPACINGS:
        yield "Invalid value", f"{where}.spacing"
    contents = box.get("contents")
    if not isinstance(contents, list) or not contents:
        yield "May not be empty", f"{where}.contents"
        return
    for index, part in enumerate(contents):
        here = f"{where}.contents[{index}]"
        if part.get("type") == "text":
            yield from unknown(part, TEXT_FIELDS, here)
            yield from text_errors(part.get("text"), MOST_TEXT, f"{here}.text")
            if part.get("size", "md") not in SIZES or part.get("weight", "bold") not in (
                "regular",
                "bold",
            ):
                yield "Invalid value", here
            if not isinstance(part.get("flex", 0), int):
                yield "Must be an integer", f"{here}.flex"
        elif part.get("type") == "box" and layout == "vertical":
            yield from _box_errors(part, here, "horizontal")
        elif part.get("type") == "button":
            yield from unknown(part, BUTTON_FIELDS, here)
            yield from action_errors(part.get("action"), f"{here}.action")
            if part.get("style", "link") not in ("primary", "secondary", "link"):
                yield (
                    "Must be one of the following values: [primary, secondary, link]",
                    f"{here}.style",
                )
            if part.get("height", "md") not in ("sm", "md"):
                yield "Must be one of the following values: [sm, md]", f"{here}.height"
        else:
            yield "Must be one of the following values: [text, button]", f"{here}.type"
