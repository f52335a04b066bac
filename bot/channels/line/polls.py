"""Polls: the card with their buttons, the vote a press makes, and the text that says how they
stand.

LINE cannot change a sent message. A press is answered by its reply token, at most every ``PAUSE_S``
for each poll: that costs nothing, and a group in which many vote at once gets few messages. A vote
that is not answered counts as well.
"""

from __future__ import annotations

import re

from bot.channels import Poll
from bot.channels.line.types import LABEL, Bubble, Button, Chat, LineMessage
from bot.channels.utf16 import shortened
from bot.texts import Texts

BOT = "polls"  # in place of a bot, in ids of conversations in which nobody writes
PAUSE_S = 10.0
VOTE = re.compile(r"vote:(poll_[0-9a-f]{32}):(\d{1,2})")


def stored_in(chat: Chat) -> str:
    """The conversation that keeps the polls of a chat."""
    return chat._replace(bot=BOT).conversation


def poll_card(poll: Poll, texts: Texts) -> LineMessage:
    """A poll with a button for each option, and one that closes it."""
    lines: list[str] = []
    buttons: list[Button] = []
    for number, option in enumerate(poll.options, 1):
        line = f"{number} {option}"
        lines.append(line)
        buttons.append(Button(shortened(line, LABEL), "", f"vote:{poll.id}:{number}"))
    buttons.append(Button(texts.get("poll.close", poll.language), "", f"vote:{poll.id}:0"))
    bubble = Bubble(poll.question, "\n".join(lines), poll.status(texts), tuple(buttons))
    return LineMessage(poll.question, bubbles=(bubble,))


def poll_counts(poll: Poll, texts: Texts) -> LineMessage:
    """How a poll stands."""
    lines = [
        f"・{option}: {count}" for option, count in zip(poll.options, poll.counts, strict=True)
    ]
    return LineMessage("\n".join([poll.question, *lines, poll.status(texts)]))


def read_vote(data: str) -> tuple[str, int] | None:
    """The poll and the number of the option that a postback votes for (0 closes it); None for
    another button."""
    vote = VOTE.fullmatch(data)
    return (vote[1], int(vote[2])) if vote else None
