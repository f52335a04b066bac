"""Cards: blocks into which Slack reads no mention, link or format. Tables are a part of Slack's own
Markdown.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block
"""

from __future__ import annotations

from bot.channels.slack.blocks import Block, rich_section, rich_text, words
from toolset.shown import Card


def card_block(card: Card) -> Block:
    """A card: its title, a line for each row with the label in bold, and its note."""
    elements: list[Block] = []
    if card.title:
        elements.append(words(card.title, bold=True))
    for label, value in card.rows:
        if elements:
            elements.append(words("\n"))
        if label:
            elements.append(words(label, bold=True))
        if label and value:
            value = f"  {value}"
        if value:
            elements.append(words(value))
    sections = [rich_section(*elements)]
    if card.note:
        sections.append(rich_section(words(card.note)))
    return rich_text(*sections)
