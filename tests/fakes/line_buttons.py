"""What LINE refuses in messages with buttons:
https://developers.line.biz/en/reference/messaging-api/#confirm

Labels and a template's text are counted in characters as people see them; here in UTF-16 units,
which are never fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

JSON = dict[str, Any]
Errors = Iterator[tuple[str, str]]  # message and property

TEMPLATE_FIELDS = {"type", "altText", "template", "quickReply", "sender"}
ALT_TEXT, CONFIRM_TEXT, LABEL, DATA, SAID = 1_500, 240, 20, 300, 300
MOST_QUICK = 13
SENDER, ICON = 20, 2_000
ACTIONS = {  # fields that must be there, and fields that may
    "postback": ({"type", "label", "data"}, {"displayText", "text", "inputOption", "fillInText"}),
    "message": ({"type", "label", "text"}, set[str]()),
}
LIMITS = {"label": LABEL, "data": DATA, "displayText": SAID, "text": SAID}


def units(text: str) -> int:
    """Length in UTF-16 code units, as LINE counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def text_errors(text: Any, most: int, where: str) -> Errors:
    """What is wrong with words."""
    if not isinstance(text, str) or not text.strip():
        yield "May not be empty", where
    elif units(text) > most:
        yield f"Length must be between 0 and {most}", where
    elif any("\ud800" <= character <= "\udfff" for character in text):
        yield "Invalid text", where


def unknown(value: JSON, known: set[str], where: str) -> Errors:
    """Properties LINE does not know."""
    for name in sorted(value.keys() - known):
        yield "Unknown property", f"{where}.{name}"


def sender_errors(sender: Any, where: str) -> Errors:
    """Name and icon above a message:
    https://developers.line.biz/en/reference/messaging-api/#icon-nickname-switch"""
    if sender is None:
        return
    yield from unknown(sender, {"name", "iconUrl"}, where)
    name, icon = sender.get("name"), sender.get("iconUrl")
    if name is not None:
        yield from text_errors(name, SENDER, f"{where}.name")
        if "line" in str(name).lower():
            yield "Must not contain a reserved word", f"{where}.name"
    if icon is not None and not (
        isinstance(icon, str) and icon.startswith("https://") and len(icon) <= ICON
    ):
        yield "Must be a valid HTTPS URL", f"{where}.iconUrl"


def template_errors(message: JSON, where: str) -> Errors:
    """A template message; of the templates, the one that Kaiwa uses."""
    yield from unknown(message, TEMPLATE_FIELDS, where)
    yield from text_errors(message.get("altText"), ALT_TEXT, f"{where}.altText")
    template = message.get("template")
    if not isinstance(template, dict) or template.get("type") != "confirm":
        yield "Must be one of the following values: [confirm]", f"{where}.template.type"
        return
    yield from unknown(template, {"type", "text", "actions"}, f"{where}.template")
    yield from text_errors(template.get("text"), CONFIRM_TEXT, f"{where}.template.text")
    actions = template.get("actions")
    if not isinstance(actions, list) or len(actions) != 2:
        yield "Size must be between 2 and 2", f"{where}.template.actions"
        return
    for index, action in enumerate(actions):
        yield from action_errors(action, f"{where}.template.actions[{index}]")


def quick_reply_errors(value: Any, where: str) -> Errors:
    """Buttons above the keyboard."""
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or not 1 <= len(items) <= MOST_QUICK:
        yield f"Size must be between 1 and {MOST_QUICK}", f"{where}.items"
        return
    for index, item in enumerate(items):
        here = f"{where}.items[{index}]"
        yield from unknown(item, {"type", "imageUrl", "action"}, here)
        if item.get("type") != "action":
            yield "Must be one of the following values: [action]", f"{here}.type"
        yield from action_errors(item.get("action"), f"{here}.action")


def action_errors(action: Any, where: str) -> Errors:
    """What a button does."""
    if not isinstance(action, dict) or action.get("type") not in ACTIONS:
        yield f"Must be one of the following values: [{', '.join(ACTIONS)}]", f"{where}.type"
        return
    needed, allowed = ACTIONS[action["type"]]
    yield from unknown(action, needed | allowed, where)
    for name, most in LIMITS.items():
        if name in needed or name in action:
            yield from text_errors(action.get(name), most, f"{where}.{name}")
