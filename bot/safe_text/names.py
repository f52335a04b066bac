"""Display names: anybody's free choice, made into words that are nothing but a name wherever they are shown."""

from __future__ import annotations

import re
import unicodedata

from bot.safe_text.glyphs import LEFT_TO_RIGHT, TURNING, unseen

CAP = 50  # characters
# What parts or frames things where names stand: fields, brackets, quotation marks, marks of code and of emphasis.
SEPARATORS = re.compile(r"[\s,;:|<>\[\](){}\"`*~\\、，；：｜＜＞［］（）｛｝＂「」『』【】〔〕〈〉《》“”„…]+")


def safe_name(name: str) -> str:
    """The name on one line, without what nobody sees and without marks of any sentence or list around it; may be empty.

    Letters in fancy dress are the plain ones.
    """
    words = SEPARATORS.sub(" ", unicodedata.normalize("NFKC", name[: 4 * CAP])).strip()[:CAP]
    hidden = unseen(words)
    return " ".join("".join(" " if place in hidden else letter for place, letter in enumerate(words)).split())


def name_in_words(name: str) -> str:
    """The safe name for a sentence that people read: one that is read from right to left turns nothing beside it."""
    name = safe_name(name)
    return f"{LEFT_TO_RIGHT}{name}{LEFT_TO_RIGHT}" if TURNING.search(name) else name
