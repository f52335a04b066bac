"""How a call to LINE fails."""

from __future__ import annotations


class Failure(Exception):
    """LINE did not do what it was asked to.

    Args:
        reason: LINE's words or ours; no secrets.
        status: of the HTTP answer, 0 where there was none.
        maybe_done: it may have been done all the same.
        after: seconds that LINE asks to wait, where it says so.
    """

    def __init__(self, reason: str, status: int = 0, *, maybe_done: bool = False, after: float | None = None) -> None:
        super().__init__(f"{status}: {reason}" if status else reason)
        self.status = status
        self.maybe_done = maybe_done
        self.after = after

    @property
    def is_dead_token(self) -> bool:
        """The reply token was used already, or its minute is over; LINE does not say which."""
        return self.status == 400 and "invalid reply token" in str(self).lower()

    @property
    def is_used_up(self) -> bool:
        """The month's messages are used up; another 429 means too many at once."""
        return self.status == 429 and "monthly limit" in str(self).lower()
