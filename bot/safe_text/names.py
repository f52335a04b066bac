"""Display names, which people choose freely, made safe to show anywhere."""

from __future__ import annotations

import re
import unicodedata

from bot.safe_text.glyphs import LEFT_TO_RIGHT, RTL_RUN, without_invisible

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
