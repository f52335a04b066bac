"""Sums are found in sentences, and dates and phone numbers are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.providers.demo.arithmetic import LONGEST, take_sums


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("12 * (3+4)", "12 * (3+4)"),
        ("What is 15% of 240?", "240 * 15%"),
        ("240の15%は?", "240 * 15%"),
        ("200 + 10%", "200 + 10%"),
        ("17 % 5", "17 % 5"),
        ("7 // 2", "7 // 2"),
        ("-(3+4)*2", "-(3+4)*2"),
        ("2(3+4)", "2*(3+4)"),
        ("(what is 3*7)", "3*7"),
        ("(1+2", "1+2"),
        ("10 - 3 - 2 = ?", "10 - 3 - 2"),
        ("1,234 * 2", "1234 * 2"),
        ("5 x 3", "5*3"),
        ("2^10", "2**10"),
        ("2の10乗は?", "2 ** 10"),
        ("square root of 16", "16 ** 0.5"),
        ("7 squared", "7 ** 2"),
        ("three plus four", "3 + 4"),
        ("7 divided by two", "7 / 2"),
        ("3たす4は?", "3+4"),
        ("三足す五は?", "3+5"),
        ("6割る2", "6/2"),
        ("5ー3", "5-3"),
        ("12×3", "12*3"),
        ("24/7", "24/7"),
        ("What is 9-5?", "9-5"),
    ],
)
def test_a_sum_is_found(text: str, expression: str) -> None:
    """In signs or in words, with what stands around it left aside."""
    assert take_sums(text)[0] == [expression]


@pytest.mark.parametrize(
    "text",
    [
        "on 2024-05-01",
        "a 9-5 job",
        "090-1234-5678",
        "50% rain",
        "1 2",
        "3*",
        "1.5.2+3",
        "I have 2 cats",
        "+",
        "()",
        "",
        "1+" * 60 + "1",
    ],
)
def test_other_numbers_are_no_sums(text: str) -> None:
    """Dates, ranges, phone numbers, single numbers, and what is too long to be read whole."""
    assert take_sums(text) == ([], text)


def test_several_sums_leave_the_rest_of_the_text() -> None:
    """What is left is read for other wishes."""
    assert take_sums("3*7, weather in Rome and 2 + 2") == (
        ["3*7", "2 + 2"],
        "; , weather in Rome and ; ",
    )


@given(st.text("0123456789.()+-*/% ", max_size=200))
def test_no_scramble_of_signs_breaks_the_search(text: str) -> None:
    """Whatever is found is short and has balanced parentheses."""
    for expression in take_sums(text)[0]:
        assert 3 <= len(expression) <= LONGEST
        assert expression.count("(") == expression.count(")")
