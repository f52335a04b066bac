"""Words of others between quotation marks: a model's in a sentence of Kaiwa's, and people's in a
request to a model."""

from __future__ import annotations

import json
import re

from bot.safe_text.arguments import OURS, QUOTES
from bot.safe_text.glyphs import invisible, isolate_rtl

MARKS = (
    frozenset('"`*~[]<>|\\「」『』【】《》〈〉«»‹›') | OURS | QUOTES
)  # quote, format, or begin an argument
SOURCE = 4  # characters that are read for each that is shown


def quotable(text: str, cap: int) -> str:
    """The text on one line of at most ``cap`` characters, to be put between quotation marks; may be
    empty.

    It has no invisible characters, no quotation marks, no marks of Markdown, and none that begins
    an argument: it can neither end the quotation nor pass for arguments. Right-to-left words do not
    reorder the text beside it.
    """
    text = text[: SOURCE * cap]
    hidden = invisible(text)
    letters = (
        " " if index in hidden or letter in MARKS else letter for index, letter in enumerate(text)
    )
    line = " ".join(re.sub("&", "& ", "".join(letters)).split())  # no HTML entity stands for a mark
    return isolate_rtl(line if len(line) <= cap else f"{line[: cap - 1]}…")


def json_line(text: str, cap: int) -> str:
    """The text as a JSON string on one line, of at most ``cap`` visible characters: no text can end
    the quotation."""
    text = text[: SOURCE * cap]
    hidden = invisible(text)
    line = " ".join(
        "".join(" " if index in hidden else letter for index, letter in enumerate(text)).split()
    )
    return json.dumps(line if len(line) <= cap else f"{line[: cap - 1]}…", ensure_ascii=False)
