"""What LINE refuses in Flex Messages: https://developers.line.biz/en/reference/messaging-api/#flex-message

Of the containers and components those that Kaiwa uses: one bubble, vertical boxes of texts and of buttons.
"""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.line_buttons import ALT_TEXT, JSON, Errors, action_errors, text_errors, unknown

FLEX_FIELDS = {"type", "altText", "contents", "quickReply", "sender"}
BUBBLE_FIELDS = {"type", "direction", "size", "header", "hero", "body", "footer", "styles", "action"}
BOX_FIELDS = {"type", "layout", "contents", "spacing", "margin", "flex"}
TEXT_FIELDS = {"type", "text", "size", "weight", "color", "wrap", "margin", "align", "maxLines"}
BUTTON_FIELDS = {"type", "action", "style", "height", "color", "margin", "flex"}
MOST_BYTES = 30_000  # of a bubble as JSON
MOST_TEXT = 2_000  # our own bound: LINE's is that of the bubble
SIZES = {"xxs", "xs", "sm", "md", "lg", "xl", "xxl", "3xl", "4xl", "5xl"}
SPACINGS = {"none", "xs", "sm", "md", "lg", "xl", "xxl"}


def flex_errors(message: JSON, where: str) -> Errors:
    """A Flex Message with one bubble."""
    yield from unknown(message, FLEX_FIELDS, where)
    yield from text_errors(message.get("altText"), ALT_TEXT, f"{where}.altText")
    bubble = message.get("contents")
    if not isinstance(bubble, dict) or bubble.get("type") != "bubble":
        yield "Must be one of the following values: [bubble]", f"{where}.contents.type"
        return
    yield from unknown(bubble, BUBBLE_FIELDS, f"{where}.contents")
    if len(json.dumps(bubble, ensure_ascii=False).encode()) > MOST_BYTES:
        yield "A message (messages[0]) in the request body is too large", f"{where}.contents"
    blocks = [name for name in ("header", "body", "footer") if name in bubble]
    if not blocks:
        yield "At least one block must be specified", f"{where}.contents"
    for name in blocks:
        yield from _box_errors(bubble[name], f"{where}.contents.{name}")


def flex_words(message: JSON) -> str:
    """What people read in a bubble, a line for each text."""
    boxes = [message["contents"].get(name, {}) for name in ("header", "body")]
    return "\n".join(part["text"] for box in boxes for part in box.get("contents", ()))


def flex_actions(message: JSON) -> list[JSON]:
    """What can be pressed."""
    footer = message.get("contents", {}).get("footer", {})
    return [part["action"] for part in footer.get("contents", ()) if part["type"] == "button"]


def _box_errors(box: Any, where: str) -> Errors:
    if not isinstance(box, dict) or box.get("type") != "box" or box.get("layout") != "vertical":
        yield "Must be one of the following values: [vertical]", f"{where}.layout"
        return
    yield from unknown(box, BOX_FIELDS, where)
    if box.get("spacing", "none") not in SPACINGS:
        yield "Invalid value", f"{where}.spacing"
    contents = box.get("contents")
    if not isinstance(contents, list):
        yield "May not be empty", f"{where}.contents"
        return
    for index, part in enumerate(contents):
        here = f"{where}.contents[{index}]"
        if part.get("type") == "text":
            yield from unknown(part, TEXT_FIELDS, here)
            yield from text_errors(part.get("text"), MOST_TEXT, f"{here}.text")
            if part.get("size", "md") not in SIZES or part.get("weight", "bold") not in ("regular", "bold"):
                yield "Invalid value", here
        elif part.get("type") == "button":
            yield from unknown(part, BUTTON_FIELDS, here)
            yield from action_errors(part.get("action"), f"{here}.action")
            if part.get("style", "link") not in ("primary", "secondary", "link"):
                yield "Must be one of the following values: [primary, secondary, link]", f"{here}.style"
            if part.get("height", "md") not in ("sm", "md"):
                yield "Must be one of the following values: [sm, md]", f"{here}.height"
        else:
            yield "Must be one of the following values: [text, button]", f"{here}.type"
