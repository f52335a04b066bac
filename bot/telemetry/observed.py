"""What an observer sees of a turn (``Feature.observer``): plain values, made only where somebody
observes."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Literal

import structlog
from msgspec import Struct

from bot.transcript import Message, ToolCall, ToolResult, Usage

log = structlog.stdlib.get_logger(__name__)

EventUse = Literal[
    "answered",
    "canned",
    "changes",
    "command",
    "left",
    "left_out",
    "refused",
    "shown",
    "superseded",
]


class ShareBegun(Struct, frozen=True):
    """This process begins the turn.

    Attributes:
        is_resumed: it goes on with the turn, perhaps after another process.
    """

    is_resumed: bool


class ShareFailed(Struct, frozen=True):
    """The turn is not answered, as something has failed that nobody foresaw.

    Attributes:
        outcome: ``crashed``: it is tried again; ``given_up``: it is not.
        cause: the exception, or why the turn is given up.
    """

    outcome: str
    cause: str


class ShareEnded(Struct, frozen=True):
    """This process is done with the turn, or leaves it as it is.

    Attributes:
        cause: the exception with which it leaves; empty for none.
    """

    cause: str


class CommitBegun(Struct, frozen=True):
    """The next request ends the turn in the store; ``ShareEnded`` says why it has not, if an error
    has kept it from that, and ``ShareBegun`` that the turn begins again.

    Attributes:
        outcome: ``answered`` or ``failed``.
    """

    outcome: str


class EventTaken(Struct, frozen=True):
    """An event of the inbox has been taken.

    Attributes:
        message: that came, or that changes another.
        kind: ``InboundEvent.event``.
        use: what the turn does with it.
        traceparent: ``InboundEvent.traceparent``.
    """

    message: Message
    kind: str
    use: EventUse
    traceparent: str = ""


class PersonaChosen(Struct, frozen=True):
    """The model will have a persona in the requests that follow.

    Attributes:
        persona: its digest.
    """

    persona: str


class AttemptBegun(Struct, frozen=True):
    """A model is asked; ``ResponseRead`` or ``AttemptFailed`` follows, unless the turn is left.

    Attributes:
        messages: of the request.
    """

    provider: str
    model: str
    system: str
    messages: Sequence[Message]


class RequestSent(Struct, frozen=True):
    """A request goes out to a model; one that no ``ResponseRead`` follows has had no whole answer.

    Attributes:
        pieces: of the body: in turn JSON, and files, which the body holds as base64.
        cached: members of the body that the vendor keeps, as JSON: the body has a name for them.
    """

    model: str
    pieces: tuple[bytes, ...]
    cached: bytes = b""

    @property
    def body(self) -> bytes:
        """The bytes as they went out."""
        body = bytearray()
        for place, piece in enumerate(self.pieces):
            body += b2a_base64(piece, newline=False) if place % 2 else piece
        return bytes(body)


class ResponseRead(Struct, frozen=True):
    """A model has answered.

    Attributes:
        events: the data of each of the vendor's events, as they came.
        asked: the name by which the model was asked, if the vendor gives it another one.
        detail: the vendor's words about an unusual stop.
    """

    model: str
    events: tuple[bytes, ...]
    message: Message
    stop_reason: str
    usage: Usage
    detail: str = ""
    asked: str = ""


class AttemptFailed(Struct, frozen=True):
    """A model has not answered, or not usably.

    Attributes:
        failure: a key of the table ``apology``.
        next_model: is asked next, perhaps the same one; empty where none is.
        wait_s: until then.
    """

    model: str
    failure: str
    cause: str
    next_model: str
    wait_s: float = 0.0


class CallBegun(Struct, frozen=True):
    """A call is looked at, and made unless something is against it.

    Attributes:
        tool: its name; ``unknown`` where there is none of the name that the model wrote.
    """

    call: ToolCall
    tool: str


class CallDecided(Struct, frozen=True):
    """It is decided whether a call is made that acts.

    Attributes:
        by: id of the person; empty where no person has decided.
        reason: of a no.
    """

    call: ToolCall
    approved: bool
    by: str
    reason: str


class CallEnded(Struct, frozen=True):
    """A call has its result.

    Attributes:
        call: as the model wrote it.
        made: with the arguments that hooks have left.
        risk: that the tool has here; empty for one that does not exist.
        ms: that it took.
    """

    call: ToolCall
    made: ToolCall
    risk: str
    result: ToolResult
    ms: int


class DeliveryBegun(Struct, frozen=True):
    """A delivery goes out, for the first time or once more."""

    delivery_id: str
    text: str


class Rated(Struct, frozen=True):
    """Somebody has rated the answer of a turn that ended before.

    Attributes:
        by: id of the person.
    """

    is_good: bool
    by: str


class Measured(Struct, frozen=True):
    """A turn, request to a model, call or delivery has ended (``bot.telemetry.Span.end``).

    Attributes:
        kind: ``turn``, ``model``, ``tool`` or ``delivery``.
        name: of the model, tool or channel.
        tokens: of a request to a model, by kind.
        fields: of the log line, such as ``cause``.
    """

    kind: str
    outcome: str
    name: str
    ms: int
    tokens: Mapping[str, int]
    fields: Mapping[str, object]


ObservedStep = (
    ShareBegun
    | EventTaken
    | PersonaChosen
    | AttemptBegun
    | RequestSent
    | ResponseRead
    | AttemptFailed
    | CallBegun
    | CallDecided
    | CallEnded
    | DeliveryBegun
    | Measured
    | Rated
    | CommitBegun
    | ShareFailed
    | ShareEnded
)
Observe = Callable[[ObservedStep], None]


def guarded(observe: Observe) -> Observe:
    """Logs what an observer raises: the turn goes on."""

    def tell(step: ObservedStep) -> None:
        try:
            observe(step)
        except Exception:
            log.exception("observer.failed", step=type(step).__name__)

    return tell


# Who observes the turn that runs in this context.
OBSERVER: ContextVar[Observe | None] = ContextVar("observer", default=None)
# What the request in this context says of its own trace, if it is one of W3C Trace Context; empty
# where nobody observes.
INCOMING: ContextVar[str] = ContextVar("incoming", default="")
