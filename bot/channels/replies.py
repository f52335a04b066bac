"""What leaves: replies before a channel formats them, what they may hold, and their deliveries."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bot.live_events import SAY, Button
from bot.transcript import FileRef, new_id
from toolset.shown import Card

PART = "."  # in ids of parts of a delivery, behind its id

# Until the platform takes it, as a dead letter too; until it is refused for good; or until then
# and as long as sending it costs nothing.
Keep = Literal["always", "until_refused", "if_free"]


@dataclass(frozen=True, slots=True)
class ButtonCard(Card):
    """A card with buttons. A button that is labelled like a row stands for that row.

    Attributes:
        key: names the card to ``Reply.replaces`` too.
        until: when it expires, milliseconds since the epoch, if it waits for a decision; its rows
            are then values alone, which are shown exactly as they are and never cut.
        asker: display name of the one person who decides; may be empty.
        asker_id: the platform's id of that person.
        call_id: of the tool call that waits for the decision.
    """

    buttons: tuple[Button, ...] = ()
    until: int = 0
    asker: str = ""
    asker_id: str = ""
    call_id: str = ""


class Reply(Struct, frozen=True, omit_defaults=True):
    """One answer of a turn, before the channel formats it.

    Attributes:
        text: Markdown of the model, or a sentence of the catalogue.
        failure: cause and fix, for channels whose reader is the operator. With it the text is an
            apology.
        replaces: key of a card that has been decided; the text takes the place of its buttons. A
            channel that cannot change a sent message sends nothing. Key of ``card``: it has
            changed; a channel that cannot change a message sends its words. Other keys name what a
            feature fills in when it is sent.
        card: is shown below the text with its buttons, or alone if its title is the text. The text
            of one that waits for a decision says all of it in words.
        private: for one person alone, where the channel can do that.
        keep: how long; what is not always kept becomes no dead letter, but is dropped.
        files: shown below the text, or told in words where that is impossible.
        cards: shown below the text, or told in words where that is impossible.
        buttons: below the text and all else.
    """

    text: str
    failure: str = ""
    replaces: str = ""
    private: bool = False
    keep: Keep = "always"
    files: tuple[FileRef, ...] = ()
    card: ButtonCard | None = None
    cards: tuple[Card, ...] = ()
    buttons: tuple[Button, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is a text for everybody there, with nothing below it, and must not get
        lost."""
        is_more = self.replaces or self.card or self.files or self.cards or self.sayings
        may_get_lost = self.private or self.keep != "always"
        return not (is_more or may_get_lost)

    @property
    def awaited(self) -> str:
        """The key of its card if that waits for a decision; empty for others."""
        return self.card.key if self.card and self.card.until else ""

    @property
    def is_change(self) -> bool:
        """Whether ``card`` has changed since it was sent."""
        return self.card is not None and self.card.key == self.replaces != ""

    @property
    def sayings(self) -> tuple[Button, ...]:
        """The buttons that say something, which are told in words where there are no buttons."""
        return tuple(one for one in self.buttons if one.action == SAY and not one.style)

    @property
    def ratings(self) -> tuple[Button, ...]:
        """The buttons that ask what people think of an answer."""
        return tuple(one for one in self.buttons if one.style in ("good", "bad"))

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


class KeptDelivery(NamedTuple):
    """The id of a delivery that a conversation keeps until another one brings it."""

    conversation: str
    id: str


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
        brings: held deliveries that come with this one, or in its place. They are held until it has
            arrived.
        more_kept: others are held, which a feature may add (``Feature.with_held``).
        may_be_reopened: a change of one of ``answers`` reopens its turn.
        deletes: unless None, the messages of these deliveries and the stream of the turn are
            deleted, and nothing is sent. Only for channels that can.
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
    brings: tuple[KeptDelivery, ...] = ()
    more_kept: bool = False
    may_be_reopened: bool = False
    deletes: tuple[str, ...] | None = None

    def is_reopened_by(self, changed: Collection[str]) -> bool:
        """Whether changes of these messages reopen its turn."""
        return self.may_be_reopened and not set(self.answers).isdisjoint(changed)

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


# Where a text may be split, best first: after a paragraph, a line, a sentence, a word.
SEAMS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[。．！？!?…]+[」』）)”’\"']*\s*|\.[)”’\"']*\s+"),
    re.compile(r"\s+|[、，]"),
)
WHOLE_URL = re.compile(r"(?<![a-z])[a-z][a-z0-9+.-]{0,30}://[^\s<>\"「」（）]+", re.IGNORECASE)
# Of a piece: a split that comes earlier leaves too short a message.
LEAST = 0.3

JOINER = "\u200d"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)


def split(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; joined, they are the text."""
    while not fits(text, limit):
        end = piece_end(text, len(head(text, limit)))
        yield text[:end]
        text = text[end:]
    yield text


def piece_end(text: str, most: int, codes: Sequence[tuple[int, int]] = ()) -> int:
    """Where the first piece ends, ``most`` characters in at the latest, and not in code."""
    links = [match.span() for match in WHOLE_URL.finditer(text, 0, 2 * most)]
    for seam in SEAMS:
        ends = [match.end() for match in seam.finditer(text, 0, most)]
        for end in reversed(ends):
            if end <= most * LEAST:
                break
            if not (_inside(end, links) or _inside(end, codes) or _joined(text, end)):
                return end
    # A URL that would be cut goes whole into the next piece if it fits there.
    end = most
    for start, stop in links:
        if 0 < start < most < stop and stop - start <= most:
            end = start
    while end > 1 and _joined(text, end):
        end -= 1
    return end if end > 1 else most


def _inside(position: int, links: Sequence[tuple[int, int]]) -> bool:
    before = bisect_left(links, (position,)) - 1
    return before >= 0 and position < links[before][1]


def _joined(text: str, position: int) -> bool:
    """Whether the characters on both sides are shown as one (a grapheme cluster)."""
    before, after = text[position - 1], text[position]
    code = ord(after)
    if JOINER in (before, after) or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if code in SKIN_TONES or code in TAGS or (before, after) == ("\r", "\n"):
        return True
    return code in FLAG_LETTERS and _flag_letters_before(text, position) % 2 == 1


def _flag_letters_before(text: str, position: int) -> int:
    first = position
    while first > 0 and ord(text[first - 1]) in FLAG_LETTERS:
        first -= 1
    return position - first


def units(text: str) -> int:
    """The length of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most ``limit`` units; one that is far from it is not encoded."""
    return len(text) <= limit // 2 or (len(text) <= limit and units(text) <= limit)


def head(text: str, limit: int) -> str:
    """The longest beginning of at most ``limit`` units; a character is never cut in two."""
    beginning = text[:limit]
    while (
        excess := units(beginning) - limit
    ) > 0:  # a character has two units at most, so never too many are dropped
        beginning = beginning[: -((excess + 1) // 2)]
    return beginning


def shortened(text: str, most: int) -> str:
    """The text in at most so many units, with a mark where it was cut."""
    return text if fits(text, most) else f"{head(text, most - 1)}…"
