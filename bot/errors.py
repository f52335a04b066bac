"""Bot's exception tree. A class exists only where somebody catches it differently.

    KaiwaError
    ├── SettingsError            start-up stops; the command line prints one line
    ├── BadInput                 the edge refuses what came in; the sender gets the sentence
    ├── StoreUnavailable         webhooks answer 503, the worker waits and tries again
    ├── LeaseLost                another process owns the turn: leave without a word
    ├── MessagesChanged          an answered message has been changed: the turn goes on
    ├── ModelError               the model gave no answer
    │   ├── TryAgain             passing: the same request may be sent again
    │   ├── ModelUnusable        a refused key, an unknown model: go on to the next model
    │   └── RequestRefused       this request will never be taken, by any attempt
    │       └── TooLong          … but one with less of the history may be
    ├── TurnFailed               a turn ends in an apology to the user
    ├── TurnParked               a turn waits for somebody, in its journal and without a lease
    └── DeliveryError            a reply did not get out
        ├── DeliverLater         passing: try again after a while
        │   └── TokenRefused     until the operator has set a new token; ends a start
        └── DeliveryRefused      final: the delivery becomes a dead letter
            ├── DeliverOnPress   … unless it is kept, and another one brings it
            └── DeliverInParts   … unless several messages can bring its text

Exceptions carry data, not text to match; vendor exceptions become these in the file that imports
the vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

# Seconds between two attempts at a delivery, whatever a platform asks: what is behind in the outbox
# waits as long.
LONGEST_WAIT_S = 600.0


class KaiwaError(Exception):
    """Whatever bot raises on purpose."""


class SettingsError(KaiwaError):
    """A setting is wrong or half filled.

    Args:
        variable: the environment variable to fix.
        fix: what to do about it, a short sentence without the value.
    """

    def __init__(self, variable: str, fix: str) -> None:
        super().__init__(f"{variable}: {fix}")
        self.variable = variable
        self.fix = fix


class BadInput(KaiwaError):
    """Input from outside that cannot be taken; its text is fit for the sender's eyes."""


class StoreUnavailable(KaiwaError):
    """Redis does not answer in time, or cannot write.

    Args:
        reason: for the log, without secrets.
        fix: what the operator can do about it.
        cause: ``full`` has no memory left, ``stopping`` is this process and not Redis.
    """

    def __init__(
        self,
        reason: str,
        fix: str = "check REDIS_URL, and that Redis runs",
        cause: Literal["away", "full", "stopping"] = "away",
    ) -> None:
        super().__init__(reason)
        self.fix = fix
        self.cause = cause


class LeaseLost(KaiwaError):
    """The fencing token is no longer the newest one of its conversation."""


class MessagesChanged(KaiwaError):
    """A message was edited or taken back before its answer was committed; nothing was stored."""


class ModelError(KaiwaError):
    """The model gave no answer.

    Args:
        apology: key of the sentence the user gets (``texts/*.toml``, table ``apology``).
        cause: cause and fix for the operator; never holds a key or the user's text.
    """

    def __init__(self, apology: str, cause: str) -> None:
        super().__init__(cause)
        self.apology = apology
        self.cause = cause


class TryAgain(ModelError):
    """A passing failure.

    Args:
        after: seconds the vendor asks to wait, where it says so.
    """

    def __init__(self, apology: str, cause: str, after: float | None = None) -> None:
        super().__init__(apology, cause)
        self.after = after


class ModelUnusable(ModelError):
    """The key was refused or the model does not exist: another attempt cannot help, another model
    can."""


class RequestRefused(ModelError):
    """The vendor will never take this request (too long, malformed, blocked)."""


class TooLong(RequestRefused):
    """The request is longer than the model can read: a shorter one may be taken.

    Args:
        window: tokens it reads at most, 0 where the vendor does not say.
    """

    def __init__(self, cause: str, window: int = 0) -> None:
        super().__init__("too_long", cause)
        self.window = window


class TurnFailed(KaiwaError):
    """A turn ends in an apology.

    Args:
        apology: key of the sentence the user gets.
        cause: cause and fix for the operator.
    """

    def __init__(self, apology: str, cause: str) -> None:
        super().__init__(cause)
        self.apology = apology
        self.cause = cause


class TurnParked(KaiwaError):
    """A turn waits for what a feature has parked it for.

    Args:
        until: by then at the latest it goes on, milliseconds of the store's clock.
        known: entries of the inbox that have been looked at, and wait for the turn's end.
    """

    def __init__(self, until: int, known: int) -> None:
        super().__init__(f"until {until}")
        self.until = until
        self.known = known


class DeliveryError(KaiwaError):
    """A reply did not get out; the text says why, without secrets."""


class DeliverLater(DeliveryError):
    """A passing failure of a delivery.

    Args:
        reason: for log and dead letter.
        after: seconds to wait before the next attempt; longer ones count as ``LONGEST_WAIT_S``.
    """

    def __init__(self, reason: str, after: float) -> None:
        super().__init__(reason)
        self.after = min(after, LONGEST_WAIT_S)


class TokenRefused(DeliverLater):
    """The platform refuses our token. Nothing was sent; a new token may be set soon."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, 60.0)


class DeliveryRefused(DeliveryError):
    """The platform will never take this delivery."""


class DeliverOnPress(DeliveryRefused):
    """The platform takes this delivery only in answer to something that its asker does."""


class DeliverInParts(DeliveryRefused):
    """The platform takes no message with so long a text; nothing was sent.

    Args:
        reason: for the log.
        texts: together they are the text.
    """

    def __init__(self, reason: str, texts: Sequence[str]) -> None:
        super().__init__(reason)
        self.texts = texts
