"""Late answers: the card with the button that fetches one, and the press of it.

A reply token works for a minute. Its first 45 seconds are the answer's; then it is spent on the
card, whose button brings a new token with each press.
"""

from __future__ import annotations

import re
from hashlib import sha256

from bot.channels.line.types import Bubble, Button, Chat, LineMessage
from bot.texts import LANGUAGES, Texts

BOT = "late"  # in place of a bot, in ids of conversations in which nobody writes
ANSWER_MS = 45_000  # of a reply token's minute; the rest is for the card
PRESS = re.compile(rf"late:({'|'.join(LANGUAGES)}):([0-9a-f]{{32}})")


def fetched_in(chat: Chat) -> str:
    """The conversation that answers presses in a chat."""
    return chat._replace(bot=BOT).conversation


def late_card(
    text: str, asker: str, texts: Texts, language: str, *, chat: Chat, pushes: bool
) -> LineMessage:
    """The card that says that an answer takes longer.

    Args:
        pushes: the answer will be pushed, as far as that is known.
    """
    lines = texts.get("line.late_pushed" if pushes else "line.late_fetched", language)
    note = texts.get("line.late_group" if chat.is_group else "line.late_kept", language)
    button = _button("late_button", asker, texts, language)
    return LineMessage(text, bubbles=(Bubble(text, lines, note, (button,)),))


def earlier_button(asker: str, texts: Texts, language: str) -> Button:
    """The button below another answer, while an earlier one is kept."""
    return _button("late_earlier", asker, texts, language)


def read_fetch(data: str) -> tuple[str, str] | None:
    """The language and the asker's mark in a postback; None for another button."""
    press = PRESS.fullmatch(data)
    return (press[1], press[2]) if press else None


def is_asker(mark: str, user: str) -> bool:
    """Whether a button is for this person."""
    return mark == _digest(user)


def _button(label: str, asker: str, texts: Texts, language: str) -> Button:
    """A button that works for its asker alone; a press posts nothing in their name."""
    return Button(texts.get(f"line.{label}", language), "", f"late:{language}:{_digest(asker)}")


def _digest(user: str) -> str:
    return sha256(user.encode()).hexdigest()[:32]
