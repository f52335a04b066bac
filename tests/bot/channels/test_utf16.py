"""Lengths as LINE and Slack measure them."""

from __future__ import annotations

import pytest

from bot.channels.replies import fits, head


@pytest.mark.parametrize(
    ("limit", "beginning"), [(0, ""), (1, "天"), (2, "天"), (3, "天😀"), (9, "天😀!")]
)
def test_a_beginning_cuts_no_character(limit: int, beginning: str) -> None:
    """What would be cut is left out."""
    assert head("天😀!", limit) == beginning


@pytest.mark.parametrize("text", ["\ud83d" * 9, "😀" * 9, "a😀" * 9, "\ud83d\udc4d" * 9])
@pytest.mark.parametrize("limit", [1, 4, 5, 9, 99])
def test_a_beginning_is_the_longest_that_fits(text: str, limit: int) -> None:
    """Also of what is no whole character: nobody waits for ever for a beginning that does not
    come."""
    beginning = head(text, limit)
    assert text.startswith(beginning)
    assert fits(beginning, limit)
    assert beginning == text or not fits(text[: len(beginning) + 1], limit)
