"""docs/operating.md computes a day with the prices that come with Kaiwa."""

from __future__ import annotations

import re

import pytest

from bot.prices import load_prices
from tests.project import ROOT


def test_the_typical_day_is_computed() -> None:
    """From the requests and tokens that stand above its table."""
    text = (ROOT / "docs" / "operating.md").read_text("utf-8")
    day = text.split("### A typical day\n")[1].split("\n## ")[0]
    numbers = re.search(r"is (\d+) requests of ([\d,]+) tokens .* with (\d+) tokens of", day)
    assert numbers
    requests, read, written = (int(number.replace(",", "")) for number in numbers.groups())
    rows = re.findall(r"^\| (gemini[\w.-]+) \| ([\d.]+) \|$", day, re.MULTILINE)
    assert len(rows) >= 3
    for model, dollars in rows:
        price = load_prices().models[model]
        one = (read * price.input + written * price.output) / 1_000_000
        assert float(dollars) == pytest.approx(requests * one, abs=0.006)
