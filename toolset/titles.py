"""Titles of tools and labels of their arguments, for people; the model knows both by their
names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LANGUAGES = ("en", "ja")
# One line of words: nothing that could end it, or pass for the name or the value beside it.
WORDS = re.compile(r"[^\W_](?:[\w '・/-]{0,38}\w)?")

Words = Mapping[str, str]  # by language


def words(*, en: str, ja: str) -> Words:
    """The words for something in both languages."""
    return {"en": en, "ja": ja}


def words_in(locale: str, words: Words) -> str:
    """The words in the language of a locale, else in English; empty where there are none."""
    return words.get(locale[:2].lower(), words.get("en", ""))


def language_of(locale: str) -> str:
    """Japanese for its locales, English for all others."""
    return "ja" if locale.lower().startswith("ja") else "en"


def complaint(titles: Any, labels: Any, parameters: Mapping[str, Any]) -> str:
    """What is wrong with a tool's titles and labels; empty where nothing is."""
    if not (titles == {} or _are_words(titles)):
        return f"titles must have one line of at most 40 letters for each of {', '.join(LANGUAGES)}"
    if not isinstance(labels, Mapping) or not all(map(_are_words, labels.values())):
        return f"labels must have one line of at most 40 letters for each of {', '.join(LANGUAGES)}"
    unknown = next((name for name in labels if name not in parameters.get("properties", {})), None)
    return f"labels names {unknown}, which is no parameter" if unknown is not None else ""


def _are_words(words: Any) -> bool:
    if not isinstance(words, Mapping) or set(words) != set(LANGUAGES):
        return False
    return all(isinstance(word, str) and WORDS.fullmatch(word) for word in words.values())
