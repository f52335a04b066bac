"""Lengths as LINE and Slack measure them."""

from __future__ import annotations

import pytest

from bot.utf16 import head, units


@pytest.mark.parametrize(("text", "length"), [("", 0), ("abc", 3), ("天気", 2), ("😀", 2), ("\ud83d", 1)])
def test_a_character_beyond_the_first_plane_counts_twice(text: str, length: int) -> None:
    """Also half of one is a unit, which a model may write."""
    assert units(text) == length


@pytest.mark.parametrize(("limit", "beginning"), [(0, ""), (1, "天"), (2, "天"), (3, "天😀"), (9, "天😀!")])
def test_a_beginning_cuts_no_character(limit: int, beginning: str) -> None:
    """What would be cut is left out."""
    assert head("天😀!", limit) == beginning
