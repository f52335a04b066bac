"""Finds the sums in a sentence, written in signs or in English or Japanese words."""

from __future__ import annotations

import re

LONGEST = 100  # characters of one sum

NUMBER = r"(?<![\d.])(?:\d++(?:\.\d++)?|\.\d++)"
SIGNED = rf"[-+]?\s*{NUMBER}"
FLAT = rf"\s*{SIGNED}%?(?:\s*(?:\*\*|//|[-+*/%])\s*{SIGNED}%?)*\s*"
GROUP = re.compile(rf"\({FLAT}\)")
RUN = re.compile(r"[-+(]*[\d.](?:[\d.()+\-*/%]|\s+(?=[\d.()+\-*/%]))*")
OPERATION = re.compile(r"[\d.)%]\s*(?:\*\*|//|[-+*/%])\s*[-+(]*[\d.]")
TIGHT = re.compile(r"\d+(?:[-/]\d+)+")  # also a date, a range or "24/7"

ENGLISH_DIGITS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
JAPANESE_DIGITS = "〇一二三四五六七八九十"
DIGITS = {
    word: str(digit)
    for words in (ENGLISH_DIGITS, JAPANESE_DIGITS)
    for digit, word in enumerate(words)
}
DIGIT_WORD = rf"\b(?:{'|'.join(ENGLISH_DIGITS)})\b|[{JAPANESE_DIGITS}]"
SIGNS = (
    (r"\bplus\b|足す|たす", "+"),
    (r"\bminus\b|引く|ひく|[−–]|(?<=\d)ー(?=\d)", "-"),
    (r"\btimes\b|\bmultiplied by\b|掛ける|かける|[×✕✖]|(?<=\d)\s*x\s*(?=\d)", "*"),
    (r"\bdivided by\b|割る|わる|÷", "/"),
    (r"\bto the power of\b|\^", "**"),
)
OPERATOR = "|".join(words for words, _ in SIGNS)
PERCENT = r"\s*(?:%|percent\b|パーセント)"
PHRASES = (
    (rf"({NUMBER}){PERCENT}\s*of\s*({NUMBER})", r"\2 * \1%"),
    (rf"({NUMBER})\s*の\s*({NUMBER}){PERCENT}", r"\1 * \2%"),
    (rf"({NUMBER})\s*の\s*({NUMBER})\s*乗", r"\1 ** \2"),
    (rf"square root of\s*({NUMBER})|({NUMBER})\s*の平方根|√\s*({NUMBER})", r"\1\2\3 ** 0.5"),
    (rf"({NUMBER})\s*squared\b", r"\1 ** 2"),
    (r"(?<=\d)(?=\(\d)", "*"),
)
ASKED_FOR = re.compile(
    r"(?:[\W_]|what(?:'s| is)|how much is|calculate|compute|please|equals|"
    r"は|を|いくつ|いくら|計算|して|ください|教えて)*",
    re.IGNORECASE,
)


def take_sums(text: str) -> tuple[list[str], str]:
    """The sums of a text as expressions, and the text without them."""
    sums: list[str] = []
    in_signs = _in_signs(text)

    def take(run: re.Match[str]) -> str:
        found = _well_formed(run[0]) if len(run[0]) <= LONGEST else ""
        around = in_signs[: run.start()] + in_signs[run.end() :]
        if not found or (TIGHT.fullmatch(found) and not ASKED_FOR.fullmatch(around)):
            return run[0]
        sums.append(found)
        return "; "

    rest = RUN.sub(take, in_signs)
    return (sums, rest) if sums else ([], text)


def _in_signs(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(
        rf"({DIGIT_WORD})(?=\s*(?:{OPERATOR}))",
        lambda m: DIGITS[m[1].lower()],
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(
        rf"({OPERATOR})(\s*)({DIGIT_WORD})",
        lambda m: m[1] + m[2] + DIGITS[m[3].lower()],
        text,
        flags=re.IGNORECASE,
    )
    for words, sign in (*PHRASES, *SIGNS):
        text = re.sub(words, sign, text, flags=re.IGNORECASE)
    return text


def _well_formed(run: str) -> str:
    """The longest beginning of a run that is a sum; empty without one."""
    while run and not _is_sum(run):
        run = run[1:] if run.count("(") > run.count(")") and run.startswith("(") else run[:-1]
    return run.strip()


def _is_sum(run: str) -> bool:
    if not OPERATION.search(run) or re.search(r"(?<![\d.])0\d", run):
        return False
    before = ""
    while run != before:
        before, run = run, GROUP.sub(" 1 ", run)
    return re.fullmatch(FLAT, run) is not None
