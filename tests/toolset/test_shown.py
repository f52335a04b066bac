"""What people see beside an answer is bounded and of one line each, whatever a tool returns."""

from __future__ import annotations

import pytest

from toolset.shown import (
    LONGEST_CHOICE,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_TITLE,
    LONGEST_VALUE,
    MOST_ROWS,
    Card,
    bounded_card,
    bounded_choices,
)


def test_a_card_is_cut_at_its_limits() -> None:
    """Every text says that it was cut."""
    card = bounded_card(Card("t" * 999, (("l" * 999, "v" * 999),) * 99, "n" * 999))
    assert card
    assert (len(card.title), len(card.rows), len(card.note)) == (
        LONGEST_TITLE,
        MOST_ROWS,
        LONGEST_NOTE,
    )
    label, value = card.rows[0]
    assert (len(label), len(value), label[-1]) == (LONGEST_LABEL, LONGEST_VALUE, "…")


def test_a_cards_texts_are_lines() -> None:
    """Without invisible characters; emoji stay whole, and empty rows go."""
    card = bounded_card(
        Card("a\nb\u202e", (("", " "), ("x", "1\r\n2\x00"), ("", "👨\u200d👩")), "\ud83d")
    )
    assert card == Card("a b", (("x", "1 2"), ("", "👨\u200d👩")), "")
    assert card.text == "a b\nx: 1 2\n👨\u200d👩"


@pytest.mark.parametrize("card", [None, Card(""), Card(" ", (("", ""),), "a note alone")])
def test_a_card_without_words_is_none(card: Card | None) -> None:
    """Nothing is shown."""
    assert bounded_card(card) is None


@pytest.mark.parametrize(
    ("offered", "stored"),
    [
        (["a", "b", "a", "c", "d", "e"], ("a", "b", "c", "d")),
        (["a", " ", "\u200b", "\u200d", "\u200b a"], ()),
        (["/forget me", "／reset", "no"], ("forget me", "reset", "no")),
        (["x" * 99, "y\nz"], (f"{'x' * (LONGEST_CHOICE - 1)}…", "y z")),
    ],
)
def test_choices_are_few_and_different(offered: list[str], stored: tuple[str, ...]) -> None:
    """At least two, at most four, none of them a command."""
    assert bounded_choices(offered) == stored
