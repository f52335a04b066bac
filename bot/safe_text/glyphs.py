"""Deceptive characters: invisible ones, lookalikes of others, and ones that reorder the text beside
them; and names and sentences without them, made safe to show.

The standard library knows a letter's script only by its Unicode name, which is enough: the scripts
in everyday use are listed here, and a letter of any other counts as unreadable.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import groupby

HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
SPACES = " \u3000"  # the ones people type
LEFT_TO_RIGHT = "\u200e"  # invisible; text on its two sides is not reordered

# Blank letters, marks and symbols: fillers of Hangul, Khmer and hieroglyphs, empty Braille, a
# musical null notehead.
BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U0001d159")
# Lookalikes of a slash, a backslash (which begins an escape), a dot, a colon, a bar, a comma.
LOOKALIKES = frozenset("∕⁄⧸╱⟋∖⧵⧹╲⟍＼․‥꞉ː˸∶׃ǃǀ⼁‚").union(
    "\u1735\u2041\U0001d23a\U0001d20f\U0001d23b",  # a slash, a backslash
    "\u205a\u0589\ufe30\ufe13\u16ec\u0703\u0704\u1803\u1809",  # a colon
    "\u0701\u0702\ua60e\U00010a50",  # a full stop
    map(chr, range(0xFE50, 0xFE70)),  # small forms of these and others
    "\u2010\u0131\u0138",  # a hyphen, an i and a k
)
# Kana and Han that look like a slash, a bar or an o between Latin letters; a yen sign, which may
# show as a backslash.
LOOKALIKES_BETWEEN = re.compile(
    r"(?<=[0-9A-Za-z.])[ノﾉ丿〳丨〇](?=[0-9A-Za-z])|[¥￥](?=[bfnrtu\"])"
)
# Nobody mixes wide and narrow forms in one run.
MIXED_WIDTHS = re.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ\u2160-\u2188]+")

# Letters that nobody sees: an address with one of them inside looks like the one without, and for
# some channels it is that one.
UNSEEN = "\u00ad\u034f\u061c\ufeff" + "".join(
    map(
        chr,
        (
            *range(0x180B, 0x1810),
            *range(0x200B, 0x2010),
            *range(0x202A, 0x202F),
            *range(0x2060, 0x2070),
            *range(0xFE00, 0xFE10),
        ),
    )
)
BETWEEN = re.compile(rf"(?<=[!-~])[{UNSEEN}]++(?=[!-~])")
# Markdown turns these into the letters of an address.
ENTITY = re.compile(r"&(?:#(?:[0-9]{2,6}|[xX][0-9A-Fa-f]{2,6})|[A-Za-z]{3,8});")
OF_ADDRESSES = re.compile(r"[A-Za-z0-9.:/\\@?#_-]")

OF_EAST_ASIA = "CJK IDEOGRAPHIC HIRAGANA KATAKANA HALFWIDTH HANGUL BOPOMOFO"
IN_EVERYDAY_USE = """
LATIN GREEK CYRILLIC ARMENIAN GEORGIAN HEBREW ARABIC THAANA ETHIOPIC DEVANAGARI BENGALI GURMUKHI
GUJARATI ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA TIBETAN MYANMAR KHMER
"""
EAST_ASIAN = frozenset(OF_EAST_ASIA.split())
UNSPACED = EAST_ASIAN | {"THAI", "LAO"}  # Latin words stand among these without a space
SCRIPTS = UNSPACED.union(IN_EVERYDAY_USE.split())
# Letters from which whole Latin-looking words can be written.
ALIKE = frozenset("АВЕЅІЈКМНОРСТУХасеорхуіјѕһкԁԛԝӏѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρικυχϲϳՕՍԼՏօոսհցքյ")

# Kinds other than a script, whose names are in capitals; punctuation and symbols have the empty
# kind.
INVISIBLE, FOREIGN, WIDE, DIGIT, MARK = "unseen", "foreign", "wide", "digit", "mark"

MAX_MARKS, MAX_SIGNS = 2, 5  # on one letter: accents; vowels and tones of one script
JOINER, PICTURE_STYLE, TEXT_STYLE, KEYCAP = "\u200d", "\ufe0f", "\ufe0e", "\u20e3"
KEYS = frozenset("0123456789#*")
SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
WORD = re.compile(r"\S+")
# Right-to-left words with the characters between them, and numbers in Arabic digits, each reordered
# by itself.
RTL = "\u0590-\u065f\u066a\u066d-\u06ef\u06fa-\u08ff"
RTL_RUN = re.compile(
    f"[\u0660-\u0669\u066b\u066c\u06f0-\u06f9]+|[{RTL}]+(?:[ ,.!?'-]{{1,2}}[{RTL}]+)*"
)


def invisible(text: str) -> set[int]:
    """Positions of characters that are invisible, or that cover the letter before them.

    Joiners and variation selectors count as visible only within emoji. A mark that follows an
    invisible character is invisible too: it would sit on what is shown in the other's place.
    """
    hidden: set[int] = set()
    if text.isascii() and text.isprintable():
        return hidden
    for index, letter in enumerate(text):
        follows = index - 1 in hidden and unicodedata.category(letter)[0] == "M"
        if follows or _is_invisible(text, index, letter):
            hidden.add(index)
    return hidden


def without_invisible(text: str) -> str:
    """The text with a space for each invisible character."""
    letters = list(text)
    for index in invisible(text):
        letters[index] = " "
    return "".join(letters)


def lookalikes(text: str) -> set[int]:
    """Positions of characters that can be taken for others.

    Not of a letter, digit or wide form whose script is clear from the text around it.
    """
    kinds = [kind_of(letter) for letter in text]
    sure = {
        kind
        for letter, kind in zip(text, kinds, strict=True)
        if kind.isupper() and letter not in ALIKE
    }
    # Wide forms are common beside East Asian letters.
    doubtful = (FOREIGN,) if sure & EAST_ASIAN else (FOREIGN, WIDE)
    found = {index for index, kind in enumerate(kinds) if kind in doubtful}
    found |= {index for index, letter in enumerate(text) if letter in LOOKALIKES}
    found |= {match.start() for match in LOOKALIKES_BETWEEN.finditer(text)}
    for match in MIXED_WIDTHS.finditer(text):
        wide = [index for index in range(*match.span()) if not text[index].isascii()]
        found.update(wide if len(wide) < len(match[0]) else ())
    for match in WORD.finditer(text):
        found.update(_mixed_scripts(text, kinds, sure, match.span()))
    return found


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for every half of a surrogate pair, which nothing can store or send."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def isolate_rtl(text: str) -> str:
    """The text with marks around each right-to-left run, so that the text beside it is not
    reordered."""
    return RTL_RUN.sub(lambda match: f"{LEFT_TO_RIGHT}{match[0]}{LEFT_TO_RIGHT}", text)


@lru_cache(8_192)
def kind_of(letter: str) -> str:
    """The script of a letter or sign, as the first word of its Unicode name; else its kind."""
    category = unicodedata.category(letter)
    if (category in HIDDEN and letter not in SPACES) or letter in BLANK:
        return INVISIBLE
    if "！" <= letter <= "～" or "￠" <= letter <= "￦" or "\u2160" <= letter <= "\u2188":
        return WIDE  # Roman numerals are as wide, and as Japanese
    if category[0] not in "LMN" or category == "No" or letter == "ℹ":
        is_part_of_han = "\u2e80" <= letter <= "\u2fdf" or "\u31c0" <= letter <= "\u31ef"
        return FOREIGN if is_part_of_han else ""
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
    return script if script in SCRIPTS else INVISIBLE


def _is_variant(letter: str, script: str) -> bool:
    """Whether a letter is a stylised form of another one, or looks like one."""
    if script == "LATIN":
        is_common = (
            letter < "\u017f" or letter in "Əə" or unicodedata.normalize("NFD", letter)[0].isascii()
        )
        return not is_common or (
            letter > "\u017f" and unicodedata.normalize("NFKC", letter) != letter
        )
    if script in ("GREEK", "CYRILLIC"):
        return unicodedata.normalize("NFKC", letter) != letter
    if script == "CJK":
        return unicodedata.normalize("NFC", letter) != letter
    return script in ("HEBREW", "ARABIC") and letter > "\u08ff"  # forms for typesetting


def _is_invisible(text: str, index: int, letter: str) -> bool:
    if letter in (PICTURE_STYLE, TEXT_STYLE):
        is_key = text[index - 1 : index] in KEYS and text[index + 1 : index + 2] == KEYCAP
        return not (_is_emoji(text[index - 1 : index]) or is_key)
    if letter == JOINER:
        before = text[index - 1 : index]
        if before == PICTURE_STYLE:
            before = text[index - 2 : index - 1]
        return not (_is_emoji(before) and _is_emoji(text[index + 1 : index + 2]))
    if unicodedata.category(letter)[0] == "M":
        return not _belongs_to_letter(text, index, kind_of(letter))
    return kind_of(letter) == INVISIBLE


def _is_emoji(letter: str) -> bool:
    if letter in SKIN_TONES:
        return True
    is_symbol = letter != "" and (unicodedata.category(letter) in ("So", "Sm") or letter in "‼⁉ℹ〰")
    return is_symbol and kind_of(letter) == ""


def _belongs_to_letter(text: str, index: int, kind: str) -> bool:
    """Whether a mark follows a letter of its own script, with few other marks."""
    if kind == INVISIBLE:
        return False
    if text[index] == KEYCAP:
        return text[index - 2 : index - 1] in KEYS and text[index - 1 : index] in (
            PICTURE_STYLE,
            TEXT_STYLE,
        )
    most = MAX_MARKS if kind == MARK else MAX_SIGNS
    for before in reversed(text[max(0, index - most) : index]):
        if unicodedata.category(before)[0] != "M":
            base = kind_of(before)
            return base == kind or (kind == MARK and base.isupper())
    return False


def _mixed_scripts(
    text: str, kinds: Sequence[str], sure: set[str], span: tuple[int, int]
) -> Iterator[int]:
    """Positions of letters and digits in a word whose script differs from that of their
    neighbours."""
    is_latin = "LATIN" in kinds[slice(*span)]
    for is_run, places in groupby(
        range(*span), key=lambda index: kinds[index] not in ("", WIDE, *UNSPACED)
    ):
        if not is_run:
            continue
        run = list(places)
        present = list(dict.fromkeys(kinds[index] for index in run))
        scripts = [kind for kind in present if kind.isupper()]
        doubtful = set(scripts) - {kinds[index] for index in run if text[index] not in ALIKE}
        masked = {script for script in doubtful if is_latin or script not in sure}
        masked.update(scripts if "LATIN" in scripts else scripts[1:])
        for kind in present:
            is_digit, of = kind.startswith(f"{DIGIT} "), kind.removeprefix(f"{DIGIT} ")
            if is_digit and (DIGIT in present or "LATIN" in scripts or of not in sure):
                masked.add(kind)
        masked.discard("LATIN")
        for index in run:
            if kinds[index] in masked:
                yield index


BULLET = "▸"  # begins an argument of a call; a value cannot contain it
SPACE = "␣"  # shows a space that could be overlooked
OURS = frozenset(f"{SPACE}⎵⌴{BULLET}▹►▻▶▷‣⏵➤➢➣❯⯈\U0001f782")  # and what looks like them
QUOTES = frozenset("“”„‟″＂ʺ〝〞〟״")
CAP = 50  # characters of a name
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


def revealed(text: str) -> str:
    """The text without what hides an address: unseen letters, and letters written as entities."""
    if not text.isascii():
        text = BETWEEN.sub("", text)
    return ENTITY.sub(_letter, text) if "&" in text else text


def _letter(entity: re.Match[str]) -> str:
    letter = unescape(entity[0])
    return letter if OF_ADDRESSES.fullmatch(letter) else entity[0]
