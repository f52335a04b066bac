"""Questions about calls that act: their messages, their buttons, and the decision a press makes."""

from __future__ import annotations

from bot.channels import APPROVE, REJECT, Question
from bot.channels.line.types import Button, LineMessage, data_of
from bot.channels.splitting import split
from bot.safe_text.addresses import unlinked
from bot.safe_text.names import isolated_name, safe_name
from bot.texts import Texts

NAME_LIMIT = 40  # UTF-16 code units; the sentence has at most 240 characters
ACTIONS = {"approve": APPROVE, "reject": REJECT}


def approval_messages(
    text: str, question: Question, texts: Texts, language: str, *, is_group: bool
) -> list[LineMessage]:
    """The question as one message, then the buttons below a sentence that names the person who
    decides.

    A question that is too long for one message is not cut: LINE refuses it, and nobody approves
    half of a call.
    """
    buttons: list[Button] = []
    for sign, action in ACTIONS.items():
        label = texts.get(f"line.{sign}", language)
        buttons.append(Button(label, label, data_of(action, question.id)))
    name = isolated_name(next(split(safe_name(question.asker), NAME_LIMIT)).strip())
    if not is_group:
        key = "confirm"
    elif not question.asker_id:
        key = "confirm_unknown"
    else:
        key = "confirm_group" if name else "confirm_nameless"
    invitation = texts.get(
        f"line.{key}", language, tool=question.title or question.tool, asker=name
    )
    # LINE opens the links of a message by itself, before anybody has decided.
    return [LineMessage(unlinked(text)), LineMessage(invitation, choice=tuple(buttons))]
