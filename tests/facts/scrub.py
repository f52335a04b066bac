"""What may stay of a recording: its fields, their order and their forms, with invented values."""

from __future__ import annotations

import re
from typing import Any

# Strings of a vendor's fixed vocabulary, kept where they look like a word.
WORDS = {
    *("type", "role", "object", "status", "code", "reason", "param", "@type", "mode", "subtype"),
    *(
        "finishReason",
        "finish_reason",
        "stop_reason",
        "done_reason",
        "blockReason",
        "native_finish_reason",
    ),
    *("modality", "trafficType", "service_tier", "serviceTier"),
    *("category", "probability", "channel_type", "mimeType", "mimetype", "mime_type"),
}
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./\-\[\]]{1,60}")
NUMBERS = {"index", "code", "length"}
FREE_FORM = {"args", "input"}
PIECES = {"arguments", "partial_json"}  # JSON as a string, in one piece or many
BYTES = {"thoughtSignature", "signature", "data"}
FIXED = {
    "name": "look_up",
    "model": "model-1",
    "modelVersion": "model-1",
    "created_at": "2026-01-01T00:00:00Z",
    "obfuscation": "x",
}
PIECE = "a piece of arguments"
ARGUMENTS = {"city": "Kyoto"}
MENTION = re.compile(r"<([@#])([A-Z][A-Z0-9]+)(\|[^>]*)?>")
NUMBER = re.compile(r"-?[\d.]+")
DELAY = re.compile(r"[\d.]+s")
STAMP = re.compile(r"\d{10}\.\d{6}")
LONG_ID = re.compile(r"[UCR][0-9a-f]{10,}")
ID = re.compile(r"[A-Z][A-Z0-9_]{3,}")


class Scrubber:
    """One body's scrubbing: what was the same before is the same after.

    Args:
        most: letters of a text at most.
    """

    def __init__(self, most: int = 60) -> None:
        self._most = most
        self._given: dict[str, str] = {}

    def value(self, value: Any, key: str = "") -> Any:
        """A value with the same form."""
        if isinstance(value, dict):
            if key in FREE_FORM or key in PIECES:
                return ARGUMENTS if value else {}
            return {name: self.value(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        if isinstance(value, str):
            return self._string(value, key) if value else ""
        if isinstance(value, bool) or value is None:
            return value
        return value if key in NUMBERS else 7 * (value > 0)

    def _string(self, value: str, key: str) -> str:
        if key in WORDS and WORD.fullmatch(value):
            return value
        if key in PIECES:
            return PIECE
        if key in BYTES:
            return "c2lnbmVk"
        if key in FIXED:
            return FIXED[key]
        if DELAY.fullmatch(value):
            return "7s"
        if key == "command":
            return "/kaiwa"
        if key not in ("text", "content", "message", "value"):
            return self._same(value, key)
        return self._words(value)

    def _words(self, value: str) -> str:
        """As many letters, and the mentions among them."""
        mentions = [
            f"<{sign}{self._same(mentioned, '')}>" for sign, mentioned, _ in MENTION.findall(value)
        ]
        rest = len(MENTION.sub("", value).strip())
        return " ".join([*mentions, *(["x" * min(rest, self._most)] if rest else [])])

    def _same(self, value: str, key: str) -> str:
        if value not in self._given:
            self._given[value] = _invented(value, key, len(self._given) + 1)
        return self._given[value]


def _invented(value: str, key: str, number: int) -> str:
    if STAMP.fullmatch(value):
        return f"1700000000.{number:06}"
    if NUMBER.fullmatch(value):
        return f"{number}"
    if LONG_ID.fullmatch(value):
        return f"{value[0]}{number:032}"
    if ID.fullmatch(value):
        return f"{value[0]}{number:08}"
    if value.startswith(("http:", "https:")):
        return f"https://example.com/{number}"
    return f"{key or 'value'}-{number}"
