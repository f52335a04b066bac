"""Flex Messages: bubbles as LINE's own objects, and what their buttons do.

https://developers.line.biz/en/reference/messaging-api/#flex-message
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.channels.line.types import Bubble, Button

NO_WORDS = "–"  # LINE refuses an empty text


def flex_contents(sdk: Any, bubbles: Sequence[Bubble]) -> Any:
    """One bubble, or several side by side."""
    made = [_bubble(sdk, bubble) for bubble in bubbles]
    return made[0] if len(made) == 1 else sdk.FlexCarousel(contents=made)


def action_of(sdk: Any, button: Button) -> Any:
    """What a press does."""
    if button.data:
        return sdk.PostbackAction(label=button.label, data=button.data, displayText=button.text or None)
    return sdk.MessageAction(label=button.label, text=button.text)


def _bubble(sdk: Any, bubble: Bubble) -> Any:
    title = [sdk.FlexText(text=bubble.title, weight="bold", wrap=True)] if bubble.title else []
    lines = [sdk.FlexText(text=bubble.lines, size="sm", wrap=True)] if bubble.lines else []
    rows = [_row(sdk, bubble, row, is_head=not (bubble.title or number)) for number, row in enumerate(bubble.rows)]
    note = [sdk.FlexText(text=bubble.note, size="xs", wrap=True)] if bubble.note else []
    actions = [action_of(sdk, button) for button in bubble.buttons]
    buttons = [sdk.FlexButton(action=action, style="secondary", height="sm") for action in actions]
    return sdk.FlexBubble(
        body=sdk.FlexBox(layout="vertical", spacing="md", contents=[*title, *lines, *rows, *note]),
        footer=sdk.FlexBox(layout="vertical", spacing="sm", contents=buttons) if buttons else None,
    )


def _row(sdk: Any, bubble: Bubble, row: Sequence[str], *, is_head: bool) -> Any:
    widths = (2, 5) if bubble.title else (1,) * len(row)
    weight = "bold" if is_head else None
    cells = [
        sdk.FlexText(text=cell.strip() or NO_WORDS, size="sm", wrap=True, flex=width, weight=weight)
        for cell, width in zip(row, widths, strict=True)
    ]
    return sdk.FlexBox(layout="horizontal", spacing="md", contents=cells)
