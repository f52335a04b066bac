"""Flex Messages: cards as LINE's own objects, and what their buttons do.

https://developers.line.biz/en/reference/messaging-api/#flex-message
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.channels.line.types import Button, Card

NO_WORDS = "–"  # LINE refuses an empty text


def flex_contents(sdk: Any, cards: Sequence[Card]) -> Any:
    """One bubble, or several side by side."""
    bubbles = [_bubble(sdk, card) for card in cards]
    return bubbles[0] if len(bubbles) == 1 else sdk.FlexCarousel(contents=bubbles)


def action_of(sdk: Any, button: Button) -> Any:
    """What a press does."""
    if button.data:
        return sdk.PostbackAction(label=button.label, data=button.data, displayText=button.text or None)
    return sdk.MessageAction(label=button.label, text=button.text)


def _bubble(sdk: Any, card: Card) -> Any:
    title = [sdk.FlexText(text=card.title, weight="bold", wrap=True)] if card.title else []
    lines = [sdk.FlexText(text=card.lines, size="sm", wrap=True)] if card.lines else []
    rows = [_row(sdk, card, row, is_head=not (card.title or number)) for number, row in enumerate(card.rows)]
    note = [sdk.FlexText(text=card.note, size="xs", wrap=True)] if card.note else []
    buttons = [sdk.FlexButton(action=action_of(sdk, button), style="secondary", height="sm") for button in card.buttons]
    return sdk.FlexBubble(
        body=sdk.FlexBox(layout="vertical", spacing="md", contents=[*title, *lines, *rows, *note]),
        footer=sdk.FlexBox(layout="vertical", spacing="sm", contents=buttons) if buttons else None,
    )


def _row(sdk: Any, card: Card, row: Sequence[str], *, is_head: bool) -> Any:
    widths = (2, 5) if card.title else (1,) * len(row)
    weight = "bold" if is_head else None
    cells = [
        sdk.FlexText(text=cell.strip() or NO_WORDS, size="sm", wrap=True, flex=width, weight=weight)
        for cell, width in zip(row, widths, strict=True)
    ]
    return sdk.FlexBox(layout="horizontal", spacing="md", contents=cells)
