"""``tests/selection.py`` names tests that exist: what a rename left behind would silently choose nothing."""

from __future__ import annotations

from itertools import chain

import pytest

from tests import selection
from tests.project import ROOT

BEGINNINGS = {
    *chain.from_iterable(selection.MARKERS.values()),
    *selection.SAMPLED,
    *selection.ALWAYS,
    *selection.UNMEASURED,
    *selection.MEASURED,
}


@pytest.mark.parametrize("beginning", sorted(BEGINNINGS))
def test_every_beginning_is_that_of_a_test(beginning: str) -> None:
    """A folder, a file, or the beginning of a function's name."""
    path, _, name = beginning.partition("::")
    assert (ROOT / path).exists()
    assert not name or f"def {name}" in (ROOT / path).read_text("utf-8")
