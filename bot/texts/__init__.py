"""The catalogue: every text of Kaiwa itself, in English and Japanese, from ``en.toml``, ``ja.toml``
and the ``texts.toml`` of features, which hold both languages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from typing import Any

LANGUAGES = ("en", "ja")
JAPANESE = re.compile(
    r"[぀-ヺー-ヿ㐀-䶿一-鿿ｦ-ﾝ]"
)  # without ・, which lists in LINE have in every language
LETTER = re.compile(r"[^\W\d_]")
PLACEHOLDER = re.compile(r"\[(?:sticker|location)(?::[^\[\]]*+)?\]")  # of what has no words
COMMAND = re.compile(
    r"\s*[/／]\S"
)  # the words of one are the same for everybody, as of a menu's button
FEW = 10  # letters; people write shorter texts in languages that are not theirs


@dataclass(frozen=True, slots=True)
class Texts:
    """The catalogue: language → dotted key → sentence with ``str.format`` fields."""

    sentences: Mapping[str, Mapping[str, str]]

    def get(self, key: str, language: str, **values: object) -> str:
        """One sentence, filled in.

        Raises:
            KeyError: no such key, or a field is missing.
        """
        return self.sentences[language][key].format(**values)

    def table(self, name: str, language: str) -> dict[str, str]:
        """All sentences of one table, by the key's last part."""
        prefix = f"{name}."
        return {
            key.removeprefix(prefix): text
            for key, text in self.sentences[language].items()
            if key.startswith(prefix)
        }


@cache
def load() -> Texts:
    """Read the catalogue that comes with the package."""
    here, features = files(__package__), files("bot.features")
    sentences = {one: _flat(_read(here / f"{one}.toml")) for one in LANGUAGES}
    for feature in sorted(features.iterdir(), key=lambda folder: folder.name):
        if (own := feature / "texts.toml").is_file():
            for language, tables in _read(own).items():
                sentences[language] |= _flat(tables)
    return Texts(sentences)


def language_of(text: str, default: str) -> str:
    """``ja`` where a text has kana or kanji, ``en`` where it has other letters, else
    ``default``."""
    if JAPANESE.search(text):
        return "ja"
    return "en" if LETTER.search(text) else default


def language_for(text: str, locale: str, default: str, *, is_command: bool = False) -> str:
    """The language in which somebody is answered: the text's, or, for few letters and commands,
    their profile's.

    Args:
        locale: BCP 47 tag of the profile; may be empty.
        default: where neither shows a language of the catalogue.
        is_command: the text is one, though no slash may begin it.
    """
    text = PLACEHOLDER.sub("", text)
    profile = preferred_language(locale, "")
    is_command = is_command or COMMAND.match(text) is not None
    if profile and (is_command or sum(1 for _ in islice(LETTER.finditer(text), FEW)) < FEW):
        return profile
    return language_of(text, profile or default)


def preferred_language(tags: str, default: str) -> str:
    """The first language of an ``Accept-Language`` header, or of one BCP 47 tag, that the catalogue
    has."""
    spoken = (tag.strip()[:2].lower() for tag in tags.split(","))
    return next((language for language in spoken if language in LANGUAGES), default)


def _read(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value.strip()
    return flat
