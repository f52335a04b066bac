"""Cards: blocks into which Slack reads no mention, link or format. Tables are a part of Slack's own
Markdown.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block
"""

from __future__ import annotations

from bot.channels.slack.blocks import Block, rich_section, rich_text, words
from toolset.shown import Card


def card_block(card: Card) -> Block:
    """A card: its title, a line for each row with the label in bold, and its note."""
    elements = [words(card.title, bold=True)] if card.title else []
    for label, value in card.rows:
        between = "  " if label and value else ""
        elements += [words("\n")] if elements else []
        elements += [words(label, bold=True)] if label else []
        elements += [words(between + value)] if value else []
    note = [rich_section(words(card.note))] if card.note else []
    return rich_text(rich_section(*elements), *note)
