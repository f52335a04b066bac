"""``tests/quick.py`` names tests that exist: what a rename left behind would silently choose
nothing."""

from __future__ import annotations

import tomllib

import pytest

from tests import quick
from tests.project import ROOT

BEGINNINGS = {*quick.NOT_QUICK, *quick.WAITING}


@pytest.mark.parametrize("beginning", sorted(BEGINNINGS))
def test_every_beginning_is_that_of_a_test(beginning: str) -> None:
    """A folder, or a file."""
    assert list(ROOT.glob(f"{beginning.rstrip('/')}*"))


@pytest.mark.parametrize("folder", ["tests/live", "tests/llm"])
def test_what_needs_the_internet_or_a_model_is_run_by_its_own_target_alone(folder: str) -> None:
    """Neither ``make quick`` nor ``make test`` nor ``make nightly`` enters these folders."""
    assert (
        folder
        in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"][
            "norecursedirs"
        ]
    )
    naming = [
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if folder in line
    ]
    assert naming == [
        f"\t@$(BIN)/pytest --quiet {'-rs ' if folder == 'tests/live' else ''}{folder}"
    ]
