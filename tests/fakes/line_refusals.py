"""The form of LINE's refusals."""

from __future__ import annotations

import msgspec


class Refused(Exception):
    """An error in LINE's form.

    Args:
        details: pairs of message and property.
        raw: a body in another form, of something between us and LINE.
    """

    def __init__(
        self,
        status: int,
        message: str,
        details: list[tuple[str, str]] | None = None,
        raw: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.details = [{"message": text, "property": name} for text, name in details or ()]
        self.raw = raw

    @property
    def body(self) -> bytes:
        """What LINE answers."""
        details = {"details": self.details} if self.details else {}
        return self.raw or msgspec.json.encode({"message": str(self), **details})
