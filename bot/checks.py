"""Results of checks: the lines of ``kaiwa doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "off", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the report; ``fix`` says how to repair it, or what could be set."""

    result: Result
    name: str
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A channel's recent traffic: times in milliseconds since the epoch, 0 for never."""

    last_webhook: int = 0
    last_delivery: int = 0
    bad_signatures: int = 0
    last_bad_signature: int = 0

    def check(self, name: str, secret: str, now: int) -> CheckResult:
        """A check of the secret: it is probably wrong if no webhook came after the last bad signature.

        Args:
            secret: name of the variable that holds the signing secret.
        """
        times = f"last webhook {ago(self.last_webhook, now)}, last delivery {ago(self.last_delivery, now)}"
        detail = f"{times}, bad signatures: {self.bad_signatures or 'none'}"
        if self.bad_signatures and self.last_bad_signature >= self.last_webhook:
            return CheckResult("warning", name, detail, f"{secret} is probably wrong")
        return CheckResult("ok", name, detail)


def ago(at: int, now: int) -> str:
    """The time since ``at`` (milliseconds), in its largest unit."""
    if not at:
        return "not noted"
    seconds = max(now - at, 0) // 1_000
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
