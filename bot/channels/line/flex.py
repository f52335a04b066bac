"""Flex Messages: bubbles, and what their buttons do.

https://developers.line.biz/en/reference/messaging-api/#flex-message
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.channels.line.types import JSON, Bubble, Button

NO_WORDS = "–"  # LINE refuses an empty text
STYLE: JSON = {"type": "button", "style": "secondary", "height": "sm"}


def flex_contents(bubbles: Sequence[Bubble]) -> JSON:
    """One bubble, or several side by side."""
    made = [_bubble(bubble) for bubble in bubbles]
    return made[0] if len(made) == 1 else {"type": "carousel", "contents": made}


def action_of(button: Button) -> JSON:
    """What a press does."""
    if not button.data:
        return {"type": "message", "label": button.label, "text": button.text}
    posted = {"displayText": button.text} if button.text else {}
    return {"type": "postback", "label": button.label, "data": button.data, **posted}


def _bubble(bubble: Bubble) -> JSON:
    parts: list[JSON] = []
    if bubble.title:
        parts.append(_text(bubble.title, weight="bold"))
    if bubble.lines:
        parts.append(_text(bubble.lines, size="sm"))
    for number, row in enumerate(bubble.rows):
        parts.append(_row(bubble, row, is_head=not (bubble.title or number)))
    if bubble.note:
        parts.append(_text(bubble.note, size="xs"))
    made: JSON = {"type": "bubble", "body": _box("vertical", "md", parts)}
    buttons = [STYLE | {"action": action_of(button)} for button in bubble.buttons]
    if buttons:
        made["footer"] = _box("vertical", "sm", buttons)
    return made


def _row(bubble: Bubble, row: Sequence[str], *, is_head: bool) -> JSON:
    widths = (2, 5) if bubble.title else (1,) * len(row)
    cells: list[JSON] = []
    for cell, width in zip(row, widths, strict=True):
        text = _text(cell.strip() or NO_WORDS, size="sm", flex=width)
        if is_head:
            text["weight"] = "bold"
        cells.append(text)
    return _box("horizontal", "md", cells)


def _box(layout: str, spacing: str, contents: Sequence[JSON]) -> JSON:
    return {"type": "box", "layout": layout, "spacing": spacing, "contents": contents}


def _text(text: str, **style: object) -> JSON:
    return {"type": "text", "text": text, "wrap": True, **style}
