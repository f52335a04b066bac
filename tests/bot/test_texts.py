"""The catalogue: both languages say the same things."""

from __future__ import annotations

import re
import string

import pytest

from bot.texts import LANGUAGES, language_for, language_of, load

ELSEWHERE = (
    "suggestion",
    "words",
    "line",
    "terminal",
    "command.help_interpret",
    "command.interpret",
    "command.interpret_how",
)
SLASHED = re.compile(r"(?<![\w/.])[/／](?!kaiwa\b)[^\W\d_]")


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_both_languages_have_the_same_keys_and_fields() -> None:
    """A sentence that one language lacks would leave a user without an answer."""
    texts = load()
    english, japanese = (texts.sentences[language] for language in LANGUAGES)
    assert set(english) == set(japanese)
    assert {key: fields(text) for key, text in english.items()} == {
        key: fields(text) for key, text in japanese.items()
    }


def test_no_sentence_in_slack_asks_for_a_message_that_slack_keeps_to_itself() -> None:
    """One that begins with a slash is a command of Slack's own, but for /kaiwa; elsewhere words do
    without it too."""
    for language in LANGUAGES:
        sentences = load().sentences[language]
        shown = {
            key: text
            for key, text in sentences.items()
            if not {key, key.partition(".")[0]} & set(ELSEWHERE)
        }
        assert [key for key, text in shown.items() if SLASHED.search(text)] == [], language


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


@pytest.mark.parametrize(
    ("text", "locale", "language"),
    [
        ("thanks", "ja", "ja"),
        ("三浦半島", "en-GB", "en"),
        ("https: 12", "ja", "ja"),
        ("what's that?", "ja", "ja"),  # nine letters
        ("what is that?", "ja", "en"),  # ten
        ("thanks", "fr", "en"),
        ("12 + 3", "fr", "ja"),
        ("ありがとう", "", "ja"),
    ],
)
def test_the_profile_decides_about_few_letters(text: str, locale: str, language: str) -> None:
    """A language that the catalogue does not have decides nothing."""
    assert language_for(text, locale, "ja") == language


def test_the_profile_decides_about_commands() -> None:
    """Their words are the same for everybody; behind a slash a tool's command is one too."""
    assert language_for("stop interpreting", "ja", "en", is_command=True) == "ja"
    assert language_for("stop interpreting", "", "ja", is_command=True) == "en"
    assert language_for("/weather New York", "ja", "en") == "ja"
    assert language_for("／天気 東京タワーの近くの天気", "en-GB", "ja") == "en"
    assert language_for("/weather New York", "", "ja") == "en"
