"""Cards: blocks into which Slack reads no mention, link or format. Tables are a part of Slack's own Markdown.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block
"""

from __future__ import annotations

from typing import Any

from toolset.shown import Card

Block = dict[str, Any]


def card_block(card: Card) -> Block:
    """A card: its title, a line for each row with the label in bold, and its note."""
    elements = [_text(card.title, bold=True)] if card.title else []
    for label, value in card.rows:
        between = "  " if label and value else ""
        elements += [_text("\n")] if elements else []
        elements += [_text(label, bold=True)] if label else []
        elements += [_text(between + value)] if value else []
    note = [{"type": "rich_text_section", "elements": [_text(card.note)]}] if card.note else []
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}, *note]}


def lines_block(lines: str) -> Block:
    """Words as they are."""
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [_text(lines)]}]}


def _text(text: str, *, bold: bool = False) -> Block:
    return {"type": "text", "text": text} | ({"style": {"bold": True}} if bold else {})
