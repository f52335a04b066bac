"""Choices: their buttons, the message a press makes, and what the buttons become. A press counts once for an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import structlog

from bot.channels import Delivery, InboundEvent
from bot.channels.slack import Config
from bot.channels.slack.approvals import press_address
from bot.channels.slack.cards import Block, card_block, lines_block
from bot.channels.slack.client import Client
from bot.channels.slack.events import ReceivedEvent
from bot.channels.slack.types import Address, Press, chat_of, is_conversation, ms, read, write_address
from bot.errors import DeliverLater
from bot.transcript import Author, Message, Text
from toolset.shown import LONGEST_CHOICE

log = structlog.stdlib.get_logger(__name__)

BUTTON = re.compile(r"kaiwa_choice_([1-9])")
VALUE = re.compile(rf"([A-Z0-9]{{1,20}}):([^\n]{{1,{LONGEST_CHOICE}}})")  # who may press, and what a press says


def blocks_beside(conversation: str, address: Address, delivery: Delivery) -> list[Block]:
    """What is shown below an answer's text.

    An answer that one person alone sees has its choices in words: the answer to a press would be seen by all.
    """
    reply = delivery.reply
    cards = [card_block(card) for card in reply.cards]
    if not reply.choices:
        return cards
    if address.response_url or not delivery.asker:
        return [*cards, lines_block(reply.told_choices)]
    return [*cards, _buttons(conversation, delivery.asker, reply.choices)]


def _buttons(conversation: str, asker: str, choices: Sequence[str]) -> Block:
    """A button for each choice. The block's id is the conversation's, and a press brings it back."""
    elements = [
        {
            "type": "button",
            "action_id": f"kaiwa_choice_{number}",
            "text": {"type": "plain_text", "text": choice, "emoji": False},
            "value": f"{asker}:{choice}",
        }
        for number, choice in enumerate(choices, 1)
    ]
    return {"type": "actions", "block_id": conversation, "elements": elements}


def read_choice(payload: dict[str, object], config: Config) -> ReceivedEvent | None:
    """The message a press makes; None for another button, and for people who are not asked or may not use the bot."""
    pressed = read(payload, Press)
    if pressed is None:
        return None
    action, user, container = pressed.actions[0], pressed.user, pressed.container
    button, value = BUTTON.fullmatch(action.action_id), VALUE.fullmatch(action.value)
    if not (button and value and is_conversation(action.block_id)):
        return None
    if user.id != value[1] or not config.allows(user.id, container.channel_id):
        return None
    author = Author(user.id, user.name or user.username or "")
    message_id = f"choice:{container.channel_id}:{container.message_ts}"  # the same for all buttons of an answer
    arrival = InboundEvent(
        Message(message_id, "user", (Text(value[2]),), ms(action.action_ts), author=author),
        write_address(press_address(pressed, config)),
        group=chat_of(action.block_id).is_group,
        choice=int(button[1]),
    )
    return ReceivedEvent(action.block_id, arrival)


async def show_choice(client: Client, payload: dict[str, Any], chosen: ReceivedEvent) -> None:
    """Replace the buttons by what was chosen, as far as Slack lets us; the press counts in any case."""
    message, author = payload.get("message"), chosen.event.message.author
    blocks = message.get("blocks") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(blocks, list) or author is None:
        return
    kept = [block for block in blocks if isinstance(block, dict) and block.get("block_id") != chosen.conversation]
    words = [{"type": "user", "user_id": author.id}, {"type": "text", "text": f": {chosen.event.message.text}"}]
    section = {"type": "rich_text_section", "elements": words}
    _, channel, ts = chosen.event.message.id.split(":")
    try:
        updated = await client.post_checked(
            "chat.update",
            channel=channel,
            ts=ts,
            text=message.get("text") or chosen.event.message.text,
            blocks=[*kept, {"type": "rich_text", "elements": [section]}],
            metadata=message.get("metadata"),
        )
    except DeliverLater as later:
        log.warning("choice.buttons_left", cause=str(later))
        return
    if not updated.ok:
        log.warning("choice.buttons_left", cause=updated.error)
