"""Where an answer goes on LINE: the place of a conversation, and the tokens of the message that is answered."""

from __future__ import annotations

import time
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import Decoder


class Address(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What the answer to one event needs.

    Attributes:
        received_at: our receipt, or the event's own time where it came again; milliseconds since the epoch. The reply
            token's minute begins no later.
    """

    received_at: int = 0
    reply_token: str = ""
    quote_token: str = ""
    mark_as_read_token: str = ""


KINDS = {"U": "user", "C": "group", "R": "room"}  # by the first letter of an id


class Place(NamedTuple):
    """A chat: ``kind`` is ``user``, ``group`` or ``room``, ``id`` what a push is addressed to."""

    bot: str
    kind: str
    id: str

    @property
    def conversation(self) -> str:
        """The conversation's id."""
        return f"line:{self.bot}:{self.kind}:{self.id}"


def place_of(conversation: str) -> Place:
    """The chat behind a conversation's id."""
    _, bot, kind, chat = conversation.split(":", 3)
    return Place(bot, kind, chat)


_decode = Decoder(Address).decode


def address_of(text: str) -> Address:
    """An address from its JSON; one without tokens where there is none, as for words nobody asked for."""
    return _decode(text) if text else Address()


def now_ms() -> int:
    """Milliseconds since the epoch; the clocks of two machines differ by less than what a token's age is cut by."""
    return time.time_ns() // 1_000_000
