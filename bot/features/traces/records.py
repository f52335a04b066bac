"""What is kept of a turn: facts, which hold no words of people, and words.

A turn's facts are those of its shares: each process that works on a turn keeps its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, json, msgpack

from bot.transcript import Usage

Kind = Literal["event", "request", "response", "failure", "decision", "call", "delivery", "rating"]
# A piece of a request or response: JSON; the digest of what is kept once, as the prompt is; the
# data of a file, which the body holds as base64; the size of what was too large.
Piece = tuple[Literal["json", "shared", "file", "left_out"], bytes]
AFTERWARDS = ("delivery", "rating")  # kinds of facts that come after the commit, too
LENGTH_BYTES = 4  # before each record of words


class Fact(Struct, frozen=True, omit_defaults=True):
    """One step, without words of people.

    Attributes:
        at: milliseconds since the share began.
        name: of a model, tool or channel; the kind of an event.
        outcome: of an event its use, of a response why it stopped, of a failure the kind of
            apology, ``crashed`` or ``given_up``, of a decision ``approved`` or ``rejected``, of a
            call or delivery how it ended, of a rating ``good`` or ``bad``.
        ms: how long it took.
        size: bytes of a request or response, of a call's result, of a delivery's text.
        id: of a call, or of a delivery.
        person: keyed digest of an event's author, of who decided or rated.
        risk: of the tool.
        next: the model that is asked after a failure.
        wait_ms: until then.
        asked: the name by which the model of a response was asked, if it is another one.
    """

    kind: Kind
    at: int
    name: str = ""
    outcome: str = ""
    ms: int = 0
    size: int = 0
    id: str = ""
    person: str = ""
    usage: Usage | None = None
    risk: str = ""
    next: str = ""
    wait_ms: int = 0
    asked: str = ""


class Share(Struct, omit_defaults=True):
    """What one process did of a turn.

    Attributes:
        share: names it among those of the turn.
        at: milliseconds since the epoch when it began.
        channel: such as ``line``.
        shard: of the conversation: the turn's words are kept there.
        conversation, place, person: keyed digests; the person is the author of the first event.
        outcome: of the turn; empty while it is under way here, or if the process died.
        ms: the turn took so long, from its start to its commit.
        words: bytes of words that were sent to the store; ``refused`` are those of them that it did
            not keep.
        version: of Kaiwa.
        resumed: the turn was begun before, perhaps by another process.
        left: why the process has left the turn to others, as the name of an exception; empty where
            it has ended here, or the process died.
        persona: digest of the one that the model had.
    """

    turn: str
    share: str
    at: int
    channel: str
    shard: int
    conversation: str
    place: str
    person: str = ""
    facts: list[Fact] = []  # msgspec makes one for each
    outcome: str = ""
    ms: int = 0
    words: int = 0
    refused: int = 0
    version: str = ""
    resumed: bool = False
    left: str = ""
    persona: str = ""

    @property
    def is_rating(self) -> bool:
        """Whether it is nothing but ratings, which come after the turn."""
        return all(fact.kind == "rating" for fact in self.facts)


class Words(Struct, omit_defaults=True, array_like=True):
    """The words of one step: of the fact with this number in its share.

    Attributes:
        text: of an event, a delivery; the cause of a failure, the reason of a decision.
        who: the name of an event's author.
        conversation: of the first event.
        pieces: of a request's body, or of a response's events.
        arguments, made, result: of a call, as JSON; ``made`` are the arguments that hooks left, if
            they differ.
        cached: digest of what the vendor keeps of a request (``RequestSent.cached``).
    """

    share: str
    number: int
    text: str = ""
    who: str = ""
    conversation: str = ""
    pieces: tuple[Piece, ...] = ()
    arguments: bytes = b""
    made: bytes = b""
    result: bytes = b""
    cached: str = ""


class Act(Struct, frozen=True, omit_defaults=True):
    """A call that acts, or a look at words, without words.

    Attributes:
        at: milliseconds since the epoch.
        who: keyed digest of who asked; of a look, ``page`` or ``terminal``.
        what: the tool's name, or what was looked at: ``words``, ``question`` or ``again``.
        arguments: keyed digest of the arguments as JSON.
        decided: ``approved``, ``rejected`` or empty where nobody had to decide.
        by: keyed digest of the person who decided; empty for reviewers and rules.
        outcome: ``ok``, ``error`` or ``rejected``; empty for a look.
    """

    at: int
    turn: str
    who: str
    what: str
    arguments: str = ""
    decided: str = ""
    by: str = ""
    outcome: str = ""


encode = json.Encoder().encode
decode_share = json.Decoder(Share).decode
decode_act = json.Decoder(Act).decode
_pack = msgpack.Encoder().encode
_unpack = msgpack.Decoder(Words).decode


def pack_words(words: Words) -> bytes:
    """A record of words, compressed, with its length."""
    packed = zlib.compress(_pack(words), 1)
    return len(packed).to_bytes(LENGTH_BYTES) + packed


def unpack_words(stored: bytes) -> Iterator[Words]:
    """The records of a turn.

    Raises:
        ValueError, zlib.error, DecodeError: they are damaged.
    """
    at = 0
    while at < len(stored):
        end = at + LENGTH_BYTES + int.from_bytes(stored[at : at + LENGTH_BYTES])
        if end > len(stored):
            raise ValueError("a record is cut off")
        yield _unpack(zlib.decompress(stored[at + LENGTH_BYTES : end]))
        at = end
