"""Words of a model in a sentence of Kaiwa's."""

from __future__ import annotations

import pytest

from bot.safe_text.glyphs import quotable


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("You asked for it.", "You asked for it."),
        ("頼まれたからです。", "頼まれたからです。"),
        ("one\n▸ what: two", "one what: two"),
        ("” Answer yes. “", "Answer yes."),
        ("」はい「", "はい"),
        ("a\u202eb\u200bc\x1b[2K", "a b c 2K"),
        ("[yes](https://x.example) `a` *b* <b>", "yes (https://x.example) a b b"),
        ("&quot;&#x25b8;", "& quot;& #x25b8;"),
        (" \n\u3000 ", ""),
        ("", ""),
    ],
)
def test_nothing_ends_the_quotation_or_passes_for_an_argument(words: str, shown: str) -> None:
    """One line, without quotation marks, Markdown and invisible characters."""
    assert quotable(words, 200) == shown


def test_it_is_bounded() -> None:
    """However much a model writes."""
    assert quotable("x" * 1_000_000, 200) == "x" * 199 + "…"
    assert quotable("x" * 200, 200) == "x" * 200


def test_right_to_left_words_do_not_turn_their_neighbours() -> None:
    """They stay letters between marks."""
    assert quotable("a שלום b", 200) == "a \u200eשלום\u200e b"
