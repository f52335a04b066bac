"""Display names, which people choose freely, and sentences of models, made safe to show."""

from __future__ import annotations

import json
import re
import unicodedata

from bot.safe_text.arguments import OURS, QUOTES
from bot.safe_text.glyphs import LEFT_TO_RIGHT, RTL_RUN, invisible, isolate_rtl, without_invisible

CAP = 50  # characters
# Characters that separate or enclose a name where it is shown: commas, brackets, quotes, code and
# emphasis marks.
SEPARATORS = re.compile(
    r"[\s,;:|<>\[\](){}\"`*~\\、，；：｜＜＞［］（）｛｝＂「」『』【】〔〕〈〉《》“”„…]+"
)


def safe_name(name: str) -> str:
    """The name on one line, without invisible characters and separators; may be empty.

    Stylised letters become plain ones.
    """
    words = SEPARATORS.sub(" ", unicodedata.normalize("NFKC", name[: 4 * CAP])).strip()[:CAP]
    return " ".join(without_invisible(words).split())


def isolated_name(name: str) -> str:
    """The safe name for a sentence: a right-to-left one does not reorder the text beside it."""
    name = safe_name(name)
    return f"{LEFT_TO_RIGHT}{name}{LEFT_TO_RIGHT}" if RTL_RUN.search(name) else name


# These quote, format, or begin an argument; a space stands for each.
MARKS = dict.fromkeys(map(ord, {*'"`*~[]<>|\\「」『』【】《》〈〉«»‹›', *OURS, *QUOTES}), " ")
LINE = 200  # characters of a line
SOURCE = 4  # characters that are read for each that is shown


def quotable(text: str, cap: int) -> str:
    """The text on one line of at most ``cap`` characters, to be put between quotation marks; may be
    empty.

    It has no invisible characters, no quotation marks, no marks of Markdown, and none that begins
    an argument: it can neither end the quotation nor pass for arguments. Right-to-left words do not
    reorder the text beside it.
    """
    plain = without_invisible(text[: SOURCE * cap]).translate(MARKS)
    # With a space behind it, no HTML entity stands for a mark.
    return isolate_rtl(_line(plain.replace("&", "& "), cap))


def json_line(text: str, cap: int) -> str:
    """The text as a JSON string on one line, of at most ``cap`` visible characters: no text can end
    the quotation."""
    line = _line(without_invisible(text[: SOURCE * cap]), cap)
    return json.dumps(line, ensure_ascii=False)


def _line(text: str, cap: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= cap else f"{line[: cap - 1]}…"


def one_line(text: str) -> str:
    """The text with single spaces and without invisible characters."""
    spaced = " ".join(text.split())[:LINE]
    hidden = invisible(spaced)
    return "".join(
        letter for index, letter in enumerate(spaced) if index not in hidden or letter == " "
    ).strip()
