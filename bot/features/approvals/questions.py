"""Questions to people, whether a call may be made: their words, and the cards that ask them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bot.agent.loop import REASON_CAP
from bot.agent.turn import ActingCall
from bot.channels import Button, ButtonCard, fits
from bot.features.approvals.review import Vote
from bot.safe_text.arguments import code_block, render_arguments
from bot.safe_text.glyphs import isolated_name, quotable
from bot.texts import Texts
from bot.transcript import new_id
from toolset.titles import words_in

APPROVE, REJECT = "approval.approve", "approval.reject"
# UTF-16 code units of a question: LINE takes 5,000 in a message, Slack 12,000 in a block.
LONGEST = 4_900
SENTENCE_CAP = 120  # characters of a reviewer's sentence
NAME_CAP = 40  # of a reviewer's name
# Divisors of these lengths; beside the longest arguments the last one always fits.
CUTS = (1, 2, 4, 8)


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
        address: where it is sent.
        language: of the person who is asked.
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
    address: str = ""
    language: str = "en"

    @property
    def shown_tool(self) -> str:
        """The tool's title with its name, which alone is unique."""
        return f"{self.title} ({self.tool})" if self.title else self.tool

    @property
    def shown_arguments(self) -> str:
        """The arguments, one a line, safe to show."""
        return render_arguments(self.arguments, self.labels)


def question_about(acting: ActingCall, until: int, address: str, language: str) -> Question:
    """The question whether a call may be made, without remarks."""
    call, asker, tool = acting.call, acting.asker, acting.tool
    return Question(
        new_id("question"),
        call.id,
        call.name,
        call.arguments,
        asker=asker.name,
        asker_id=asker.id,
        until=until,
        title=words_in(language, tool.titles),
        labels=tool.labels_in(language),
        address=address,
        language=language,
    )


def with_remarks(
    question: Question, acting: ActingCall, votes: Sequence[Vote], texts: Texts
) -> Question:
    """The question with its remarks, whose words are cut until all of it fits one message."""
    for divisor in CUTS:
        remarks = _remarks(acting, votes, texts, question.language, divisor)
        question = replace(question, remarks=remarks)
        if fits(sentence(question, texts), LONGEST):
            break
    return question


def sentence(question: Question, texts: Texts, *, with_words: bool = True) -> str:
    """The question in words.

    Args:
        with_words: it may be answered by words.
    """
    remarks = "".join(f"\n{remark}\n" for remark in question.remarks)
    arguments, language = code_block(question.shown_arguments), question.language
    values = {"tool": question.shown_tool, "arguments": arguments, "remarks": remarks}
    asked = texts.get("approval.question", language, **values).strip()
    return f"{asked}\n\n{texts.get('approval.answer', language)}" if with_words else asked


def settled_sentence(question: Question, outcome: str, name: str, texts: Texts) -> str:
    """What is said in place of a question, and by whom it was decided if a name is known."""
    language = question.language
    text = texts.get(f"approval.{outcome}", language, tool=question.shown_tool)
    if who := isolated_name(name):
        text = texts.get("approval.by", language, outcome=text, name=who)
    return text


def card_of(question: Question, texts: Texts) -> ButtonCard:
    """The card that asks a question."""
    language = question.language
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


def _remarks(
    acting: ActingCall, votes: Sequence[Vote], texts: Texts, language: str, divisor: int
) -> tuple[str, ...]:
    """The words of models, each in a sentence that says whose they are.

    Args:
        divisor: of the length that the words may have.
    """
    remarks = []
    if acting.address:
        remarks.append(texts.get("approval.address", language))
    if words := quotable(acting.reason, REASON_CAP // divisor):
        remarks.append(texts.get("approval.reason", language, words=words))
    for vote in votes:
        name = vote.reviewer
        if len(name) > NAME_CAP:
            name = f"{name[: NAME_CAP - 1]}…"
        words = quotable(vote.sentence, SENTENCE_CAP // divisor)
        key = f"approval.vote_{vote.verdict or 'missing'}"
        remarks.append(texts.get(key, language, reviewer=name, words=words))
    return tuple(remarks)
