"""Blocks and views of Slack's Block Kit. Only ``markdown`` is read as anything but plain text.

https://docs.slack.dev/reference/block-kit
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Block = dict[str, Any]


def plain(text: str) -> Block:
    """Text in which Slack reads no mention, link or format."""
    return {"type": "plain_text", "text": text, "emoji": False}


def section(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": plain(text)}


def header(text: str) -> Block:
    """A heading."""
    return {"type": "header", "text": plain(text)}


def context(text: str) -> Block:
    """A line in small letters."""
    return {"type": "context", "elements": [plain(text)]}


def markdown(text: str) -> Block:
    """The Markdown of an answer."""
    return {"type": "markdown", "text": text}


def rich_text(*parts: Block) -> Block:
    """Sections, quotes and preformatted parts."""
    return {"type": "rich_text", "elements": list(parts)}


def rich_section(*elements: Block) -> Block:
    """A part of a rich text, in one flow."""
    return {"type": "rich_text_section", "elements": list(elements)}


def words(text: str, *, bold: bool = False) -> Block:
    """An element of a rich text."""
    return {"type": "text", "text": text} | ({"style": {"bold": True}} if bold else {})


def actions(buttons: Sequence[Block], block_id: str = "") -> Block:
    """Buttons in a row; a press brings ``block_id`` back, without which Slack makes one up."""
    return {"type": "actions", "elements": list(buttons)} | (
        {"block_id": block_id} if block_id else {}
    )


def button(label: str, action_id: str, value: str = "", style: str = "") -> Block:
    """A button."""
    more = {name: given for name, given in (("value", value), ("style", style)) if given}
    return {"type": "button", "text": plain(label), "action_id": action_id, **more}


def modal(title: str, close: str, blocks: Sequence[Block]) -> Block:
    """A modal; ``close`` is the button that only closes it."""
    return {"type": "modal", "title": plain(title), "close": plain(close), "blocks": list(blocks)}
