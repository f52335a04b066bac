"""Questions to people, whether a call may be made, and the cards that ask them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bot.channels import APPROVE, REJECT, Button, ButtonCard
from bot.safe_text.arguments import render_arguments
from bot.texts import Texts


class Question(Struct, frozen=True, omit_defaults=True):
    """A tool call that waits for a person's approval.

    Attributes:
        id: a decision carries it.
        arguments: of the call, exactly as the tool will get them.
        asker: display name of the person who asked for the call; may be empty.
        asker_id: the platform's id of that person, who alone decides.
        until: when the question expires, milliseconds since the epoch.
        title: the tool's name for people; may be empty.
        labels: names of arguments for people.
        remarks: sentences to show apart from the arguments: the model's reason, the votes of
            reviewers.
    """

    id: str
    call_id: str
    tool: str
    arguments: dict[str, Any]
    asker: str = ""
    asker_id: str = ""
    until: int = 0
    title: str = ""
    labels: dict[str, str] = {}
    remarks: tuple[str, ...] = ()

    @property
    def shown_tool(self) -> str:
        """The tool's title with its name, which alone is unique."""
        return f"{self.title} ({self.tool})" if self.title else self.tool

    @property
    def shown_arguments(self) -> str:
        """The arguments, one a line, safe to show."""
        return render_arguments(self.arguments, self.labels)


def card_of(question: Question, texts: Texts, language: str) -> ButtonCard:
    """The card that asks a question."""
    yes = Button(texts.get("approval.yes", language), APPROVE, question.id, style="main")
    no = Button(texts.get("approval.no", language), REJECT, question.id, closes=True)
    lines = [question.shown_tool]
    if question.arguments:
        lines += question.shown_arguments.split("\n")
    return ButtonCard(
        texts.get("approval.title", language, tool=question.title or question.tool),
        tuple(("", line) for line in lines),
        "\n".join(question.remarks),
        key=question.id,
        buttons=(yes, no),
        until=question.until,
        asker=question.asker,
        asker_id=question.asker_id,
        call_id=question.call_id,
    )
