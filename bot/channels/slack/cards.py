"""Cards: blocks into which Slack reads no mention, link or format. Tables are a part of Slack's own
Markdown.

https://docs.slack.dev/reference/block-kit/blocks/markdown-block
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.channels import ButtonCard, InboundEvent
from bot.channels.slack import Config
from bot.channels.slack.blocks import (
    Block,
    actions,
    button,
    context,
    rich_section,
    rich_text,
    words,
)
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.formatting import escape
from bot.channels.slack.types import Press, is_conversation, ms, write_address
from bot.transcript import Message
from toolset.shown import Card

LABEL = 75  # characters of a button
# An action, and a number that tells apart the buttons of a message, as Slack demands.
ACTION = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20})#\d{1,2}")
VALUE = re.compile(r"\S{0,200}")


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
    """A card with its buttons, as chat.postMessage and chat.update take it. The id of the buttons'
    block is the conversation's, and a press brings it back."""
    blocks = [card_block(replace(card, note=""))]
    if card.note:
        blocks.append(context(card.note))
    buttons = []
    for number, one in enumerate(card.buttons, 1):
        style = "danger" if one.closes else ""
        buttons.append(button(one.label[:LABEL], f"{one.action}#{number}", one.value, style))
    if buttons:
        blocks.append(actions(buttons, conversation))
    return {"text": escape(card.title), "blocks": blocks}


def read_action(pressed: Press, config: Config) -> ReceivedEvent | None:
    """The event that the press of a card's button makes; None for another button, and for people
    who may not use the bot."""
    pressed_button, user, container = pressed.actions[0], pressed.user, pressed.container
    action = ACTION.fullmatch(pressed_button.action_id)
    value, conversation = pressed_button.value, pressed_button.block_id
    if not action or not VALUE.fullmatch(value) or not is_conversation(conversation):
        return None
    if not config.allows(user.id, container.channel_id):
        return None
    # A second press counts too, as it may take the first one back. Slack sends the same press with
    # the same time again.
    at = pressed_button.action_ts
    message_id = f"{value}:{user.id}:{pressed_button.action_id}:{at}"
    arrival = InboundEvent(
        Message(message_id, "user", (), ms(at), author=user.author),
        write_address(press_address(pressed, config)),
        group=not container.channel_id.startswith("D"),
        event="action",
        action=action[1],
        target=value,
    )
    return ReceivedEvent(conversation, arrival)
