"""Buttons: their blocks, and the event that a press makes.

https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import structlog

from bot.channels import SAY, Button, InboundEvent
from bot.channels.slack import Config
from bot.channels.slack.blocks import Block, actions, button, plain, rich_section, rich_text, words
from bot.channels.slack.client import Client
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.messages import OutboundMessage
from bot.channels.slack.types import (
    Action,
    Address,
    Press,
    Presser,
    chat_of,
    is_conversation,
    ms,
    write_address,
)
from bot.transcript import Message, Text
from toolset.shown import LONGEST_CHOICE
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

LABEL = 75  # characters of a button
# An action, and a number that tells apart the buttons of a message, as Slack demands. The buttons
# of a card that waits for a decision differ by their actions: a second press is the same decision.
ACTION = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20})(#\d{1,2})?")
VALUE = re.compile(r"\S{0,200}")
# Who may press a button that says something, and what it says.
SAID = re.compile(rf"([A-Z0-9]{{1,20}}):([^\n]{{1,{LONGEST_CHOICE}}})")
# Slack's own pair of buttons for feedback has one name; the value of each begins with its action.
FEEDBACK = "kaiwa_feedback"
FEEDBACK_VALUE = re.compile(r"([a-z_]{1,20}\.[a-z_]{1,20}) (\S{0,200})")
OF_FEEDBACK = ":feedback"  # ends the id of its block: in a message no two blocks have the same
STYLES = {"main": "primary"}
ICONS = {"good": "👍", "bad": "👎"}
FIELDS = {"good": "positive_button", "bad": "negative_button"}


class FeedbackBlocks(NamedTuple):
    """Two buttons that ask what people think of an answer: Slack's own, or plain ones."""

    native: Block
    plain: Block


def button_block(buttons: Sequence[Button], conversation: str) -> Block:
    """Buttons in a row. The block's id is the conversation's, and a press brings it back."""
    elements: list[Block] = []
    for number, one in enumerate(buttons, 1):
        style = "danger" if one.closes else ""
        elements.append(button(one.label[:LABEL], f"{one.action}#{number}", one.value, style))
    return actions(elements, conversation)


def decision_block(buttons: Sequence[Button], conversation: str) -> Block:
    """The buttons of a card that waits for a decision, likewise."""
    elements: list[Block] = []
    for one in buttons:
        style = "danger" if one.closes else STYLES.get(one.style, "")
        elements.append(button(one.label[:LABEL], one.action, one.value, style))
    return actions(elements, conversation)


def blocks_below(outbound: OutboundMessage) -> list[Block]:
    """The buttons below an answer that say something.

    An answer that one person alone sees has them in words: the answer to a press would be seen by
    all.
    """
    reply, asker = outbound.reply, outbound.delivery.asker
    if not reply.sayings:
        return []
    if outbound.address.response_url or not asker:
        return [rich_text(rich_section(words(reply.sayings_in_words)))]
    theirs = [Button(one.label, SAY, f"{asker}:{one.value}") for one in reply.sayings]
    return [button_block(theirs, outbound.conversation)]


def feedback_blocks(outbound: OutboundMessage) -> FeedbackBlocks | None:
    """The buttons below an answer that ask what people think of it; None where it has none."""
    icons: list[Block] = []
    native: Block = {"type": "feedback_buttons", "action_id": FEEDBACK}
    for number, one in enumerate(outbound.reply.buttons):
        if not (icon := ICONS.get(one.style)):
            continue
        named = {"accessibility_label": one.label}
        icons.append(button(icon, f"{one.action}#{number}", one.value) | named)
        value = f"{one.action} {one.value}"
        native[FIELDS[one.style]] = {"text": plain(one.label), "value": value} | named
    if not icons:
        return None
    block_id = f"{outbound.conversation}{OF_FEEDBACK}"
    own = {"type": "context_actions", "elements": [native], "block_id": block_id}
    return FeedbackBlocks(own, actions(icons, block_id))


def read_press(pressed: Press, config: Config) -> ReceivedEvent | None:
    """The event that a press below a message makes; see ``event_of``."""
    return event_of(pressed.actions[0], pressed.user, press_address(pressed, config), config)


def event_of(
    action: Action, user: Presser, address: Address, config: Config
) -> ReceivedEvent | None:
    """The event that a pressed button makes; None for a button that is not ours, and for people who
    may not press it or not use the bot.

    Args:
        address: of the message with the button.
    """
    conversation = action.block_id.removesuffix(OF_FEEDBACK)
    named = ACTION.fullmatch(action.action_id)
    name, value = named[1] if named else "", action.value
    if action.action_id == FEEDBACK and (found := FEEDBACK_VALUE.fullmatch(value)):
        name, value = found.groups()
    if not (name and is_conversation(conversation)):
        return None
    if user.id not in config.approvers and not config.allows(user.id, address.channel):
        return None
    where, at = write_address(address), ms(action.action_ts)
    group = chat_of(conversation).is_group
    if name == SAY:
        said = SAID.fullmatch(value)
        if not said or user.id != said[1]:
            return None
        # The same for all buttons of an answer.
        message_id = f"choice:{address.channel}:{address.ts}"
        message = Message(message_id, "user", (Text(said[2]),), at, author=user.author)
        return ReceivedEvent(conversation, InboundEvent(message, where, group, action=SAY))
    if not VALUE.fullmatch(value):
        return None
    message_id = f"{value}:{user.id}:{action.action_id}"
    if not named or named[2]:
        # A second press counts too, as it may take the first one back. Slack sends the same press
        # with the same time again.
        message_id = f"{message_id}:{action.action_ts}"
    message = Message(message_id, "user", (), at, author=user.author)
    event = InboundEvent(message, where, group, "action", target=value, action=name)
    return ReceivedEvent(conversation, event)


async def show_said(client: Client, pressed: Press, said: ReceivedEvent) -> None:
    """Replace the buttons by what was said, as far as Slack lets us; the press counts in any
    case."""
    message, text = as_object(pressed.message), said.event.message.text
    if not isinstance(message.get("blocks"), list):
        return
    who = {"type": "user", "user_id": pressed.user.id}
    blocks = entries(message["blocks"])
    for place, block in enumerate(blocks):
        if block.get("block_id") == said.conversation:
            blocks[place] = rich_text(rich_section(who, words(f": {text}")))
    if cause := await client.try_post(
        "chat.update",
        channel=pressed.container.channel_id,
        ts=pressed.container.message_ts,
        text=message.get("text") or text,
        blocks=blocks,
        metadata=message.get("metadata"),
    ):
        log.warning("slack.buttons_left", cause=cause)
