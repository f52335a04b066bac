"""Whether a message has words is found in a time that grows with its length."""

from __future__ import annotations

from bot.features.interpreter.feature import has_words
from tests.growth import assert_linear


def test_four_times_the_text_takes_four_times_the_work() -> None:
    """With every nasty shape, up to 25,000 characters."""
    assert_linear(has_words)
