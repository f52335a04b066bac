"""Text from and for Slack: escapes, links and mentions; and blocks of its Block Kit, of which only
``markdown`` is read as anything but plain text.

https://docs.slack.dev/reference/block-kit
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.channels import SAY, Button, ButtonCard, Reply
from bot.channels.replies import shortened
from toolset.shown import Card

Block = dict[str, Any]

MARKUP = re.compile(r"<([^<>\s][^<>]*)>")
USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
GROUP = re.compile(r"<!subteam\^(S[A-Z0-9]+)>")
BROADCAST = re.compile(r"<!((?:channel|here|everyone)\b|subteam\^\w+)(?:\|[^<>]*)?>")
OPEN_TAG = re.compile(
    r"<(?:!(?:\w*|subteam\^\w*|(?:channel|here|everyone|subteam\^\w+)\|[^<>]*))?\Z"
)
# with escapes, of the text beside blocks; Slack refuses more than 4,000 in a changed message
FALLBACK_BYTES = 3_900
ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
MOST_ESCAPED = 5  # bytes of a character with its escape
LIMIT = 12_000  # of markdown_text
LABEL = 75  # characters of a button
# Slack's own pair of buttons for feedback has one name; the value of each begins with its action.
FEEDBACK = "kaiwa_feedback"
OF_FEEDBACK = ":feedback"  # ends the id of its block: in a message no two blocks have the same
STYLES = {"main": "primary"}
RATINGS = {"good": ("👍", "positive_button"), "bad": ("👎", "negative_button")}


def mentioned_users(text: str) -> set[str]:
    """The ids of the users a text mentions."""
    return set(USER.findall(text))


def addresses_one(text: str) -> bool:
    """Whether a text mentions a person or a user group."""
    return bool(USER.search(text) or GROUP.search(text))


def plain_text(text: str) -> str:
    """The text without markup and escapes. Mentions of users and groups stay: their names are
    looked up later."""
    text = MARKUP.sub(_plain_markup, text)
    for escaped, character in ESCAPES:
        text = text.replace(escaped, character)
    return text.encode("utf-8", "replace").decode().strip()


def _plain_markup(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target.startswith("@") or GROUP.fullmatch(match[0]):
        return match[0]
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if label and label != target and address == target:
        return f"{label} ({target})"
    return address


def escape(text: str) -> str:
    """The text escaped, so that Slack finds no links and no mentions."""
    for escaped, character in reversed(ESCAPES):
        text = text.replace(character, escaped)
    return text


def cut_fallback(text: str) -> str:
    """What notifications show instead of blocks: as much of the text as fits beside these."""
    if len(text) * MOST_ESCAPED <= FALLBACK_BYTES:
        return text
    size = 0
    for index, character in enumerate(text):
        size += len(escape(character).encode("utf-8", "replace"))
        if size > FALLBACK_BYTES:
            return text[:index]
    return text


def without_mentions(text: str, ids: Collection[str]) -> str:
    """The text without the mentions of these users; if ``ids`` is empty, without the first
    mention."""
    if ids:
        text = USER.sub(lambda match: "" if match[1] in ids else match[0], text)
    else:
        text = USER.sub("", text, count=1)
    return re.sub(r"[ \t]{2,}", " ", text).strip()


def with_names(text: str, names: Mapping[str, str]) -> str:
    """The text with mentions as names, if known; of an unknown user group nothing but that it is
    one.

    Args:
        names: of users and groups, by id.
    """
    text = USER.sub(lambda match: f"@{names[match[1]]}" if names.get(match[1]) else match[0], text)
    return GROUP.sub(lambda match: f"@{names.get(match[1], 'subteam')}", text)


def without_broadcasts(markdown: str) -> str:
    """The text with mentions of everybody (@channel, @here) made harmless."""
    return BROADCAST.sub(lambda match: f"@{match[1].partition('^')[0]}", markdown)


def short_line(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` UTF-16 code units, with mentions of everybody made
    harmless."""
    return shortened(without_broadcasts(" ".join(text.split())), limit)


def open_tag_start(markdown: str) -> int:
    """The index at which an unfinished mention of everybody begins; the text's length if none
    does."""
    match = OPEN_TAG.search(markdown)
    return match.start() if match else len(markdown)


def plain(text: str) -> Block:
    """Text in which Slack reads no mention, link or format."""
    return {"type": "plain_text", "text": text, "emoji": False}


def section(text: str) -> Block:
    """A paragraph."""
    return {"type": "section", "text": plain(text)}


def context(text: str) -> Block:
    """A line in small letters."""
    return {"type": "context", "elements": [plain(text)]}


def rich_text(*parts: Block) -> Block:
    """Sections, quotes and preformatted parts."""
    return {"type": "rich_text", "elements": list(parts)}


def rich_section(*elements: Block) -> Block:
    """A part of a rich text, in one flow."""
    return {"type": "rich_text_section", "elements": list(elements)}


def words(text: str, *, bold: bool = False) -> Block:
    """An element of a rich text."""
    return {"type": "text", "text": text} | ({"style": {"bold": True}} if bold else {})


def button(label: str, action_id: str, value: str = "", style: str = "") -> Block:
    """A button."""
    more = {name: given for name, given in (("value", value), ("style", style)) if given}
    return {"type": "button", "text": plain(label), "action_id": action_id, **more}


def modal(title: str, close: str, blocks: Sequence[Block]) -> Block:
    """A modal; ``close`` is the button that only closes it."""
    return {"type": "modal", "title": plain(title), "close": plain(close), "blocks": list(blocks)}


def button_row(buttons: Sequence[Button], conversation: str, *, decides: bool = False) -> Block:
    """Buttons in a row. The block's id is the conversation's, and a press brings it back.

    Slack wants different actions in a message, so each has a number; those of a card that waits for
    a decision have none, so that a second press is the same decision, and its no is red. What ends
    a poll is not: it would stand out from the options.
    """
    elements: list[Block] = []
    for number, one in enumerate(buttons, 1):
        action_id = one.action if decides else f"{one.action}#{number}"
        style = "danger" if one.closes and decides else STYLES.get(one.style, "")
        elements.append(button(one.label[:LABEL], action_id, one.value, style))
    return {"type": "actions", "elements": elements, "block_id": conversation}


def saying_blocks(reply: Reply, conversation: str, asker: str) -> list[Block]:
    """The buttons below an answer that say something.

    Args:
        asker: who may press them. Empty: they are shown in words, as below an answer that one
            person alone sees: the answer to a press would be seen by all.
    """
    sayings = reply.sayings
    if not sayings:
        return []
    if not asker:
        return [rich_text(rich_section(words(reply.sayings_in_words)))]
    theirs = [Button(one.label, SAY, f"{asker}:{one.value}") for one in sayings]
    return [button_row(theirs, conversation)]


def feedback_block(buttons: Sequence[Button], conversation: str, *, native: bool) -> Block:
    """The buttons that ask what people think of an answer: Slack's own pair, or plain ones.

    https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    """
    block_id = f"{conversation}{OF_FEEDBACK}"
    pair: Block = {"type": "feedback_buttons", "action_id": FEEDBACK}
    icons: list[Block] = []
    for number, one in enumerate(buttons):
        icon, field = RATINGS[one.style]
        named = {"accessibility_label": one.label}
        if native:
            value = f"{one.action} {one.value}"
            pair[field] = {"text": plain(one.label), "value": value} | named
        else:
            icons.append(button(icon, f"{one.action}#{number}", one.value) | named)
    if native:
        return {"type": "context_actions", "elements": [pair], "block_id": block_id}
    return {"type": "actions", "elements": icons, "block_id": block_id}


def card_block(card: Card) -> Block:
    """A card: its title, a line for each row with the label in bold, and its note.

    Slack reads no mention, link or format in it. Tables are a part of its own Markdown.
    """
    elements = [words(card.title, bold=True)] if card.title else []
    for label, value in card.rows:
        if elements:
            elements.append(words("\n"))
        if label:
            elements.append(words(label, bold=True))
        if value:
            elements.append(words(f"  {value}" if label else value))
    sections = [rich_section(*elements)]
    if card.note:
        sections.append(rich_section(words(card.note)))
    return rich_text(*sections)


def card_content(card: ButtonCard, conversation: str) -> dict[str, object]:
    """A card with its buttons, as chat.postMessage and chat.update take it."""
    blocks = [card_block(Card(card.title, card.rows))]
    if card.note:
        blocks.append(context(card.note))
    if card.buttons:
        blocks.append(button_row(card.buttons, conversation))
    return {"text": escape(card.title), "blocks": blocks}
