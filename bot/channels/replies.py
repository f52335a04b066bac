"""What leaves: replies before a channel formats them, what they may hold, and their deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bot.live_events import SAY, Button
from bot.safe_text.arguments import render_arguments
from bot.transcript import FileRef, new_id
from toolset.shown import Card

PART = "."  # in ids of parts of a delivery, behind its id


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


@dataclass(frozen=True, slots=True)
class ButtonCard(Card):
    """A card with buttons. A button that is labelled like a row stands for that row.

    Attributes:
        key: names the card to ``Reply.replaces``.
    """

    key: str = ""
    buttons: tuple[Button, ...] = ()


class Reply(Struct, frozen=True, omit_defaults=True):
    """One answer of a turn, before the channel formats it.

    Attributes:
        text: Markdown of the model, or a sentence of the catalogue.
        failed: the text is an apology.
        note: cause and fix, for channels whose reader is the operator.
        question: the text asks it; a channel with buttons adds them. A typed yes or no answers it
            too.
        replaces: id of a question that has been decided; the text is the outcome. A channel that
            cannot change a sent message sends nothing. Key of ``card``: it has changed; a channel
            that cannot change a message sends its words. Other keys name what a feature fills in
            when it is sent.
        card: is shown below the text with its buttons, or alone if its title is the text.
        private: for one person alone, where the channel can do that.
        fleeting: if it cannot be delivered it is dropped; it does not become a dead letter.
        takes_back: unless None, the messages of these deliveries and the stream of the delivery's
            turn are deleted, and nothing is sent. Only for channels that can.
        files: shown below the text, or told in words where that is impossible.
        cards: shown below the text, or told in words where that is impossible.
        buttons: below the text and all else.
        free: it is sent as long as that costs nothing, and otherwise dropped.
        asker: id of the person whose reminder it is; empty for an answer, which is for whom the
            turn answers.
    """

    text: str
    failed: bool = False
    note: str = ""
    question: Question | None = None
    replaces: str = ""
    private: bool = False
    fleeting: bool = False
    files: tuple[FileRef, ...] = ()
    card: ButtonCard | None = None
    free: bool = False
    takes_back: tuple[str, ...] | None = None
    cards: tuple[Card, ...] = ()
    buttons: tuple[Button, ...] = ()
    asker: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it is a text for everybody there, with nothing below it, and must not get
        lost."""
        is_more = (
            self.question or self.replaces or self.card or self.files or self.cards or self.sayings
        )
        may_get_lost = self.private or self.fleeting or self.free
        return not (is_more or may_get_lost)

    @property
    def is_change(self) -> bool:
        """Whether ``card`` has changed since it was sent."""
        return self.card is not None and self.card.key == self.replaces != ""

    @property
    def sayings(self) -> tuple[Button, ...]:
        """The buttons that say something, which are told in words where there are no buttons."""
        return tuple(one for one in self.buttons if one.action == SAY and not one.style)

    @property
    def sayings_in_words(self) -> str:
        """These in words, one a line; empty without any."""
        return "\n".join(f"・{button.value}" for button in self.sayings)

    def in_parts(self, texts: Sequence[str]) -> list[Reply]:
        """The reply as several with these texts; what is shown below its text is shown below the
        last one."""
        *above, last = texts
        bare = replace(self, files=(), card=None, cards=(), buttons=())
        return [*(replace(bare, text=text) for text in above), replace(self, text=last)]


def say_buttons(texts: Iterable[str]) -> tuple[Button, ...]:
    """A button for each of these texts, which it says."""
    return tuple(Button(text, SAY, text) for text in texts)


class LateAnswer(Struct, frozen=True):
    """A delivery that is kept until its asker fetches it.

    Attributes:
        stored_in: the conversation that keeps it.
        id: of the delivery; empty: there was none, and the press got a sentence.
    """

    stored_in: str
    id: str = ""


class Delivery(Struct, frozen=True, omit_defaults=True):
    """A reply in the outbox.

    Attributes:
        id: made with the turn, the same at every attempt.
        address: what the channel needs to send it (reply token and its age, thread …); the
            channel's own JSON.
        attempts: number of attempts, with the one under way.
        refusals: number of attempts that ended with ``TokenRefused``.
        refused_since: time of the first of these, milliseconds since the epoch.
        not_before: time before which no attempt is made, milliseconds since the epoch.
        asker: the platform's id of the person who is answered; ``/forget`` finds the delivery by
            it.
        failures: number of attempts that ended with an unforeseen exception.
        answers: ids of the answered messages; when these change, the delivery is void.
        late: what a press of a button has been found to fetch. It stays where it is kept until it
            has arrived.
        more_late: other answers to the asker are kept.
        brings: ids of kept deliveries that answer no message, as reminders; their texts stand above
            this one's. Only while it is sent, not in the outbox.
        may_be_reopened: a change of one of ``answers`` reopens its turn.
    """

    id: str
    turn_id: str
    reply: Reply
    address: str = ""
    attempts: int = 0
    refusals: int = 0
    refused_since: int = 0
    not_before: int = 0
    asker: str = ""
    failures: int = 0
    answers: tuple[str, ...] = ()
    late: LateAnswer | None = None
    more_late: bool = False
    brings: tuple[str, ...] = ()
    may_be_reopened: bool = False

    def in_parts(self, texts: Sequence[str]) -> list[Delivery]:
        """The delivery as several with these texts, none of them attempted.

        The first keeps the id, and with it the message in which the turn has shown its answer.
        """
        ids = [self.id, *(f"{self.id}{PART}{new_id('part')}" for _ in texts[1:])]
        fresh = replace(self, attempts=0, refusals=0, failures=0)
        return [
            replace(fresh, id=id, reply=reply)
            for id, reply in zip(ids, self.reply.in_parts(texts), strict=True)
        ]


def whole_of(delivery_id: str) -> str:
    """The id of the delivery of which this one is a part; of another delivery its own id."""
    return delivery_id.partition(PART)[0]
