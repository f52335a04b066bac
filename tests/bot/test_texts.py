"""The catalogue: both languages say the same things."""

from __future__ import annotations

import string

import pytest

from bot.texts import LANGUAGES, language_of, load


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_both_languages_have_the_same_keys_and_fields() -> None:
    """A sentence that one language lacks would leave a user without an answer."""
    texts = load()
    english, japanese = (texts.sentences[language] for language in LANGUAGES)
    assert set(english) == set(japanese)
    assert {key: fields(text) for key, text in english.items()} == {key: fields(text) for key, text in japanese.items()}


def test_apologies_fit_into_300_characters() -> None:
    """One honest message, short enough for every channel."""
    texts = load()
    for language in LANGUAGES:
        for key, sentence in texts.table("apology", language).items():
            assert 0 < len(sentence) <= 300, (language, key)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What's up?", "en"),
        ("東京", "ja"),
        ("ﾃﾝｷ", "ja"),
        ("weather in 東京", "ja"),
        ("Grüße", "en"),
        ("・eggs\n・milk", "en"),
        ("・12", "ja"),
        ("12 + 3", "ja"),
        ("", "ja"),
    ],
)
def test_the_language_is_read_off_the_letters(text: str, language: str) -> None:
    """Kana or kanji mean Japanese, other letters English, no letters the default."""
    assert language_of(text, "ja") == language
