"""Late answers: the card with the button that fetches one, and the press of it.

A reply token works for a minute. Its first 45 seconds are the answer's; then it is spent on the
card, whose button brings a new token with each press.
"""

from __future__ import annotations

from bot.channels import FETCH, fetch_value
from bot.channels.line.types import Bubble, Button, Chat, LineMessage, data_of
from bot.texts import Texts

BOT = "late"  # in place of a bot, in ids of conversations in which nobody writes
ANSWER_MS = 45_000  # of a reply token's minute; the rest is for the card


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


def _button(label: str, asker: str, texts: Texts, language: str) -> Button:
    """A button that works for its asker alone; a press posts nothing in their name."""
    posted = data_of(FETCH, fetch_value(language, asker))
    return Button(texts.get(f"line.{label}", language), "", posted)
