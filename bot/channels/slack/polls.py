"""Polls: their blocks, their buttons, the vote a press makes, and the message that shows how they
stand."""

from __future__ import annotations

import re

import structlog

from bot.channels import InboundEvent, Poll
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
from bot.channels.slack.client import Client
from bot.channels.slack.events import ReceivedEvent, press_address
from bot.channels.slack.formatting import escape
from bot.channels.slack.messages import Messages, OutboundMessage
from bot.channels.slack.types import Chat, Press, ms, write_address
from bot.texts import Texts
from bot.transcript import Message

log = structlog.stdlib.get_logger(__name__)

TEAM = "polls"  # in place of a team, in ids of conversations in which nobody writes
PAUSE_S = 2.0  # Slack takes about 50 changes of messages a minute
LABEL = 75  # characters of a button
BUTTON = re.compile(r"kaiwa_vote_(\d{1,2})")
POLL = re.compile(r"poll_[0-9a-f]{32}")
KEPT_IN = re.compile(rf"slack:{TEAM}:[A-Z0-9]+")


def stored_in(channel: str) -> str:
    """The conversation that keeps the polls of a channel."""
    return Chat(TEAM, channel).conversation


class Polls:
    """Posts polls, and changes their messages."""

    def __init__(self, client: Client, messages: Messages, texts: Texts) -> None:
        self._client = client
        self._messages = messages
        self._texts = texts

    async def post(self, outbound: OutboundMessage, poll: Poll) -> None:
        """Post a poll.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
            LeaseLost: from ``assert_lease``.
        """
        await self._messages.send(outbound, self._content(poll))

    async def update(self, outbound: OutboundMessage, poll: Poll) -> None:
        """Show how a poll stands, in the message whose button was pressed.

        Raises:
            DeliverLater: passing failure.
            LeaseLost: from ``assert_lease``.
        """
        await outbound.assert_lease()
        target = {"channel": outbound.address.channel, "ts": outbound.address.ts}
        updated = await self._client.post_checked("chat.update", **target, **self._content(poll))
        if not updated.ok:
            log.warning("poll.not_updated", cause=updated.error)

    def _content(self, poll: Poll) -> dict[str, object]:
        blocks = [_counts(poll), context(poll.status(self._texts))]
        if not poll.is_closed:
            blocks.append(_buttons(poll, self._texts))
        return {"text": escape(poll.question), "blocks": blocks}


def _counts(poll: Poll) -> Block:
    """Question and counts, in a block that Slack reads no mention, link or format into."""
    lines = [f"{option}: {count}" for option, count in zip(poll.options, poll.counts, strict=True)]
    return rich_text(
        rich_section(words(poll.question, bold=True)), rich_section(words("\n".join(lines)))
    )


def _buttons(poll: Poll, texts: Texts) -> Block:
    """A button for each option, and the one that closes. The block's id says where the poll is
    kept."""
    options = [
        button(option[:LABEL], f"kaiwa_vote_{number}", poll.id)
        for number, option in enumerate(poll.options, 1)
    ]
    close = button(texts.get("poll.close", poll.language), "kaiwa_vote_0", poll.id, "danger")
    return actions([*options, close], poll.stored_in)


def read_vote(pressed: Press, config: Config) -> ReceivedEvent | None:
    """The vote a press makes; None for a button that is no poll's, and for people who may not use
    the bot."""
    action, user, container = pressed.actions[0], pressed.user, pressed.container
    number = BUTTON.fullmatch(action.action_id)
    if not number or not POLL.fullmatch(action.value) or not KEPT_IN.fullmatch(action.block_id):
        return None
    if not config.allows(user.id, container.channel_id):
        return None
    # A second press counts too: it takes the vote back. Slack sends the same press with the same
    # time again.
    message_id = f"{action.value}:{user.id}:{action.action_id}:{action.action_ts}"
    arrival = InboundEvent(
        Message(message_id, "user", (), ms(action.action_ts), author=user.author),
        write_address(press_address(pressed, config)),
        group=not container.channel_id.startswith("D"),
        event="vote",
        target=action.value,
        choice=int(number[1]),
    )
    return ReceivedEvent(action.block_id, arrival)
