"""Choices: their buttons, the message a press makes, and what the buttons become. A press counts
once for an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

import structlog

from bot.channels import CHOOSE, InboundEvent
from bot.channels.slack import Config
from bot.channels.slack.blocks import Block, actions, button, rich_section, rich_text, words
from bot.channels.slack.cards import card_block
from bot.channels.slack.client import Client
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.messages import OutboundMessage
from bot.channels.slack.types import Press, chat_of, is_conversation, ms, write_address
from bot.transcript import Message, Text
from toolset.shown import LONGEST_CHOICE
from toolset.web.json_values import as_object, entries

log = structlog.stdlib.get_logger(__name__)

BUTTON = re.compile(r"kaiwa_choice_([1-9])")
VALUE = re.compile(
    rf"([A-Z0-9]{{1,20}}):([^\n]{{1,{LONGEST_CHOICE}}})"
)  # who may press, and what a press says


def blocks_beside(outbound: OutboundMessage) -> list[Block]:
    """What is shown below an answer's text.

    An answer that one person alone sees has its choices in words: the answer to a press would be
    seen by all.
    """
    reply, asker = outbound.reply, outbound.delivery.asker
    cards = [card_block(card) for card in reply.cards]
    if not reply.choices:
        return cards
    if outbound.address.response_url or not asker:
        return [*cards, rich_text(rich_section(words(reply.choices_in_words)))]
    return [*cards, _buttons(outbound.conversation, asker, reply.choices)]


def _buttons(conversation: str, asker: str, choices: Sequence[str]) -> Block:
    """A button for each choice. The block's id is the conversation's, and a press brings it
    back."""
    buttons = [
        button(choice, f"kaiwa_choice_{number}", f"{asker}:{choice}")
        for number, choice in enumerate(choices, 1)
    ]
    return actions(buttons, conversation)


def read_choice(pressed: Press, config: Config) -> ReceivedEvent | None:
    """The message a press makes; None for another button, and for people who are not asked or may
    not use the bot."""
    action, user, container = pressed.actions[0], pressed.user, pressed.container
    number, value = BUTTON.fullmatch(action.action_id), VALUE.fullmatch(action.value)
    if not (number and value and is_conversation(action.block_id)):
        return None
    if user.id != value[1] or not config.allows(user.id, container.channel_id):
        return None
    # the same for all buttons of an answer
    message_id = f"choice:{container.channel_id}:{container.message_ts}"
    arrival = InboundEvent(
        Message(message_id, "user", (Text(value[2]),), ms(action.action_ts), author=user.author),
        write_address(press_address(pressed, config)),
        group=chat_of(action.block_id).is_group,
        action=CHOOSE,
    )
    return ReceivedEvent(action.block_id, arrival)


async def show_choice(client: Client, pressed: Press, chosen: ReceivedEvent) -> None:
    """Replace the buttons by what was chosen, as far as Slack lets us; the press counts in any
    case."""
    message, text = as_object(pressed.message), chosen.event.message.text
    if not isinstance(message.get("blocks"), list):
        return
    choice = rich_text(
        rich_section({"type": "user", "user_id": pressed.user.id}, words(f": {text}"))
    )
    blocks = entries(message["blocks"])
    for place, block in enumerate(blocks):
        if block.get("block_id") == chosen.conversation:
            blocks[place] = choice
    if cause := await client.try_post(
        "chat.update",
        channel=pressed.container.channel_id,
        ts=pressed.container.message_ts,
        text=message.get("text") or text,
        blocks=blocks,
        metadata=message.get("metadata"),
    ):
        log.warning("choice.buttons_left", cause=cause)
