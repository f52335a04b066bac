"""Cards that ask questions, for tests of whoever shows them."""

from __future__ import annotations

from msgspec.structs import replace

from bot.channels import ButtonCard
from bot.features.approvals.questions import Question, card_of
from tests.bot.harness import texts


def card_asking(question: Question) -> ButtonCard:
    """The card that asks a question, in English; one without a deadline gets a late one."""
    return card_of(replace(question, until=question.until or 4_000_000_000_000), texts())
