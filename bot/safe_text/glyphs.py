"""Which characters show what they are, and which are not seen, pose as others, or turn round what stands beside them.

Unicode's own data in the standard library know a letter's alphabet by its name only, which is enough: the alphabets in
everyday use are listed here, and what is in none of them is not taken for a letter that somebody can read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
SPACES = " \u3000"  # the ones people type
LEFT_TO_RIGHT = "\u200e"  # shows nothing; words on either side of it do not change places

# Letters, marks and symbols that show nothing: fillers of Hangul, Khmer and hieroglyphs, empty Braille, empty notes.
BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U0001d159")
# Marks that pose as a slash, a backslash (which begins an escape), a dot, a colon, a bar, a comma.
POSERS = frozenset("∕⁄⧸╱⟋∖⧵⧹╲⟍＼․‥꞉ː˸∶׃ǃǀ⼁‚").union(
    "\u1735\u2041\U0001d23a",  # a slash
    "\U0001d20f\U0001d23b",  # a backslash
    "\u205a\u0589\ufe30\ufe13\u16ec\u0703\u0704\u1803\u1809",  # a colon
    "\u0701\u0702\ua60e\U00010a50",  # a full stop
    map(chr, range(0xFE50, 0xFE70)),  # small forms of these and others
    "\u2010\u0131\u0138",  # a hyphen, an i and a k
)
# Kana and Han that look like a slash, a bar or an o between Latin letters, and a yen sign like the backslash it may be.
POSING_BETWEEN = re.compile(r"(?<=[0-9A-Za-z.])[ノﾉ丿〳丨〇](?=[0-9A-Za-z])|[¥￥](?=[bfnrtu\"])")
# Wide and narrow forms in one run are no habit of anybody's.
MIXED_WIDTHS = re.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ\u2160-\u2188]+")

EAST_ASIAN = frozenset(("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HALFWIDTH", "HANGUL", "BOPOMOFO"))
UNSPACED = EAST_ASIAN | {"THAI", "LAO"}  # people write Latin words amid these without a space
SCRIPTS = UNSPACED | frozenset(
    (
        *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "THAANA", "ETHIOPIC"),
        *("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"),
        *("SINHALA", "TIBETAN", "MYANMAR", "KHMER"),
    )
)
# Letters of which whole Latin-looking words can be written.
ALIKE = frozenset("АВЕЅІЈКМНОРСТУХасеорхуіјѕһкԁԛԝӏѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρικυχϲϳՕՍԼՏօոսհցքյ")

# What a character is where it is not of a script, whose names are in capitals; nothing for punctuation and symbols.
UNSEEN, FOREIGN, WIDE, DIGIT, MARK = "unseen", "foreign", "wide", "digit", "mark"

MOST_MARKS, MOST_SIGNS = 2, 5  # on one letter: accents; vowels and tones of one script
JOINER, PICTURE_STYLE, TEXT_STYLE, KEYCAP = "\u200d", "\ufe0f", "\ufe0e", "\u20e3"
KEYS = frozenset("0123456789#*")
SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
WORD = re.compile(r"\S+")
# Right-to-left words with what stands between them, and numbers in Arabic digits, each of which turns by itself.
TURNED = "\u0590-\u065f\u066a\u066d-\u06ef\u06fa-\u08ff"
TURNING = re.compile(f"[\u0660-\u0669\u066b\u066c\u06f0-\u06f9]+|[{TURNED}]+(?:[ ,.!?'-]{{1,2}}[{TURNED}]+)*")


def unseen(text: str) -> set[int]:
    """Where characters stand that nobody sees, or that cover the letter before them.

    Joiners and styles of emoji are seen there, and only there.
    """
    return {place for place, letter in enumerate(text) if _is_unseen(text, place, letter)}


def posing(text: str) -> set[int]:
    """Where characters stand that can be taken for others.

    A letter of another alphabet, a digit or a wide form stays where the text shows beyond doubt whose it is.
    """
    kinds = [kind_of(letter) for letter in text]
    sure = {kind for letter, kind in zip(text, kinds, strict=True) if kind.isupper() and letter not in ALIKE}
    kept = {kind for kind in (WIDE,) if sure & EAST_ASIAN}
    found = {place for place, kind in enumerate(kinds) if kind in (FOREIGN, WIDE) and kind not in kept}
    found |= {place for place, letter in enumerate(text) if letter in POSERS}
    found |= {match.start() for match in POSING_BETWEEN.finditer(text)}
    for match in MIXED_WIDTHS.finditer(text):
        wide = [place for place in range(*match.span()) if not text[place].isascii()]
        found.update(wide if len(wide) < len(match[0]) else ())
    for match in WORD.finditer(text):
        found.update(_masks(text, kinds, sure, match.span()))
    return found


def in_order(text: str) -> str:
    """The text with a mark on either side of what is read from right to left, so that nothing beside it turns."""
    return TURNING.sub(lambda match: f"{LEFT_TO_RIGHT}{match[0]}{LEFT_TO_RIGHT}", text)


@lru_cache(8_192)
def kind_of(letter: str) -> str:
    """The script of a letter or a sign, as Unicode's names begin; else what kind of character it is."""
    category = unicodedata.category(letter)
    if (category in HIDDEN and letter not in SPACES) or letter in BLANK:
        return UNSEEN
    if "！" <= letter <= "～" or "￠" <= letter <= "￦" or "\u2160" <= letter <= "\u2188":
        return WIDE  # Roman numerals are as wide, and as Japanese
    if category[0] not in "LMN" or category == "No" or letter == "ℹ":
        return FOREIGN if "\u2e80" <= letter <= "\u2fdf" or "\u31c0" <= letter <= "\u31ef" else ""  # parts of Han
    if letter.isascii():
        return DIGIT if letter.isdigit() else "LATIN"
    script = re.split("[ -]", unicodedata.name(letter, ""), maxsplit=1)[0]
    if category[0] == "M":
        return _kind_of_mark(letter, script)
    if script not in SCRIPTS or _is_variant(letter, script):
        return FOREIGN
    return f"{DIGIT} {script}" if category == "Nd" else script


def _kind_of_mark(letter: str, script: str) -> str:
    if letter == KEYCAP or "\u0300" <= letter <= "\u0331" or letter in "\u3099\u309a":
        return MARK
    return script if script in SCRIPTS else UNSEEN


def _is_variant(letter: str, script: str) -> bool:
    """Whether a letter is another one in a different dress, or one of those that look so."""
    if script == "LATIN":
        is_common = letter < "\u017f" or letter in "Əə" or unicodedata.normalize("NFD", letter)[0].isascii()
        return not is_common or (letter > "\u017f" and unicodedata.normalize("NFKC", letter) != letter)
    if script in ("GREEK", "CYRILLIC"):
        return unicodedata.normalize("NFKC", letter) != letter
    if script == "CJK":
        return unicodedata.normalize("NFC", letter) != letter
    return script in ("HEBREW", "ARABIC") and letter > "\u08ff"  # forms for typesetting


def _is_unseen(text: str, place: int, letter: str) -> bool:
    if letter in (PICTURE_STYLE, TEXT_STYLE):
        is_key = text[place - 1 : place] in KEYS and text[place + 1 : place + 2] == KEYCAP
        return not (_is_picture(text[place - 1 : place]) or is_key)
    if letter == JOINER:
        before = text[place - 2 : place - 1] if text[place - 1 : place] == PICTURE_STYLE else text[place - 1 : place]
        return not (_is_picture(before) and _is_picture(text[place + 1 : place + 2]))
    if unicodedata.category(letter)[0] == "M":
        return not _is_carried(text, place, kind_of(letter))
    return kind_of(letter) == UNSEEN


def _is_picture(letter: str) -> bool:
    if letter in SKIN_TONES:
        return True
    is_symbol = letter != "" and (unicodedata.category(letter) in ("So", "Sm") or letter in "‼⁉ℹ〰")
    return is_symbol and kind_of(letter) == ""


def _is_carried(text: str, place: int, kind: str) -> bool:
    """Whether a mark stands on a letter that it belongs to, with few others."""
    if kind == UNSEEN:
        return False
    if text[place] == KEYCAP:
        return text[place - 2 : place - 1] in KEYS and text[place - 1] == PICTURE_STYLE
    most = MOST_MARKS if kind == MARK else MOST_SIGNS
    for before in reversed(text[max(0, place - most) : place]):
        if unicodedata.category(before)[0] != "M":
            base = kind_of(before)
            return base == kind or (kind == MARK and base.isupper())
    return False


def _masks(text: str, kinds: Sequence[str], sure: set[str], span: tuple[int, int]) -> Iterator[int]:
    """Letters and digits of a word, as spaces part them, that belong to another alphabet than those beside them."""
    is_latin = "LATIN" in kinds[slice(*span)]
    for is_run, places in groupby(range(*span), key=lambda place: kinds[place] not in ("", WIDE, *UNSPACED)):
        run = list(places) if is_run else []
        present = list(dict.fromkeys(kinds[place] for place in run))
        scripts = [kind for kind in present if kind.isupper()]
        doubtful = set(scripts) - {kinds[place] for place in run if text[place] not in ALIKE}
        masked = {script for script in doubtful if is_latin or script not in sure}
        masked.update(scripts if "LATIN" in scripts else scripts[1:])
        for kind in present:
            is_digit, of = kind.startswith(f"{DIGIT} "), kind.removeprefix(f"{DIGIT} ")
            if is_digit and (DIGIT in present or "LATIN" in scripts or of not in sure):
                masked.add(kind)
        yield from (place for place in run if kinds[place] in masked - {"LATIN"})
