"""Cards: blocks into which Slack reads no mention, link or format. Tables are a part of Slack's own
Markdown.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block
"""

from __future__ import annotations

from dataclasses import replace

from bot.channels import ButtonCard
from bot.channels.slack.blocks import Block, context, rich_section, rich_text, words
from bot.channels.slack.buttons import button_block
from bot.channels.slack.formatting import escape
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


def card_content(card: ButtonCard, conversation: str) -> dict[str, object]:
    """A card with its buttons, as chat.postMessage and chat.update take it."""
    blocks = [card_block(replace(card, note=""))]
    if card.note:
        blocks.append(context(card.note))
    if card.buttons:
        blocks.append(button_block(card.buttons, conversation))
    return {"text": escape(card.title), "blocks": blocks}
