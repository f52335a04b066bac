"""What tokens cost, and how limits count those of a vendor's cache."""

from __future__ import annotations

import pytest

from bot.features.limits.settings import Config
from bot.prices import counted_tokens, load_prices
from bot.transcript import Usage

REQUESTS = 400
CHARACTERS = 13_000
# Few, so that the requests have many tokens.
CHARACTERS_OF_TOKEN = 3
HISTORY, OUTPUT = 2_000, 200


def test_cached_input_counts_by_its_share_of_the_price() -> None:
    """Rounded up; everything counts whole for a model without a price."""
    usage = Usage(input=1_000, cached=801, output=30, thinking=5)
    assert counted_tokens("gemini-2.5-flash-preview-09-2025", usage) == 199 + 81 + 35
    assert counted_tokens("made-up", usage) == 1_035


@pytest.mark.parametrize("model", load_prices().models)
def test_an_ordinary_person_has_400_requests_a_day(model: str) -> None:
    """With the default limit, if four fifths of the input are reported as cached."""
    tokens = CHARACTERS // CHARACTERS_OF_TOKEN + HISTORY
    usage = Usage(input=tokens, cached=tokens * 4 // 5, output=OUTPUT)
    limit = Config().daily_user_tokens
    assert counted_tokens(model, usage) * REQUESTS <= limit == 1_000_000
