"""The channels' Protocol: how a reply leaves, and which routes bring messages in.

Each file here is one place where people talk to the bot. Callers know this Protocol only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from starlette.routing import BaseRoute

from bot.live import Watcher
from bot.transcript import Message


class Reply(Struct, frozen=True, omit_defaults=True):
    """What a turn says, before a channel gives it the channel's form.

    Attributes:
        text: Markdown, as the model wrote it, or a sentence of ours.
        failed: the text is an apology.
        note: cause and mend, for channels whose reader is the operator.
    """

    text: str
    failed: bool = False
    note: str = ""


class Delivery(Struct, frozen=True, omit_defaults=True):
    """A reply on its way, as it stands in the outbox.

    Attributes:
        id: made with the turn, the same at every attempt.
        turn_id: the turn it answers.
        address: what the channel needs to send it (reply token and its age, thread …); the channel's own JSON.
        attempts: how often sending was begun.
        not_before: milliseconds since the epoch; earlier no attempt is made.
    """

    id: str
    turn_id: str
    reply: Reply
    address: str = ""
    attempts: int = 0
    not_before: int = 0


class Arrival(Struct, frozen=True, omit_defaults=True):
    """A message on its way in, as it stands in the inbox.

    Attributes:
        address: where its answer goes (reply token and its age, thread …); the channel's own JSON.
        group: several people read along.
    """

    message: Message
    address: str = ""
    group: bool = False


class Accept(Protocol):
    """The way in: durable before it returns, enqueued, and nothing else."""

    async def __call__(self, conversation: str, arrival: Arrival) -> bool:
        """Accept one message; false where its id was seen before.

        Raises:
            StoreUnavailable: nothing was kept, the platform must send it again.
        """
        ...


class Channel(Protocol):
    """One place where people talk to the bot.

    Attributes:
        name: first word of its conversation ids.
        style: how to write here, for the system prompt; the same bytes in every turn.
    """

    name: str
    style: str

    def routes(self) -> Sequence[BaseRoute]:
        """What the web server mounts for this channel."""
        ...

    def watcher(self, conversation: str) -> Watcher:
        """Where a turn of this conversation shows itself while it runs."""
        ...

    async def deliver(self, conversation: str, delivery: Delivery) -> None:
        """Send one reply; returning means delivered.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        ...
