"""``kaiwa chat``: one conversation on a terminal or between pipes, and reports for operators."""

from __future__ import annotations

import re

LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")
# Directions of text; each stays in force until it is closed.
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNPRINTABLE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{BIDI}]")


def printable(text: str) -> str:
    """The text without control characters and changes of direction: models and tools send any."""
    return UNPRINTABLE.sub("", text.translate(LINE_ENDS))
