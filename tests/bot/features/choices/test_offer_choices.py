"""``offer_choices``: the model offers some, and people see them below its answer."""

from __future__ import annotations

from typing import Any

import pytest

from bot.features.choices.tools import OfferChoices
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome, ValidatedTool, read_schemas


async def offer(**arguments: Any) -> ToolOutcome:
    """Call the tool between its schemas."""
    return await ValidatedTool(OfferChoices(), *read_schemas("offer_choices")).call(
        arguments, context()
    )


async def test_the_model_offers_choices() -> None:
    """It reads where they are, and people see them."""
    outcome = await offer(choices=["Today", "Tomorrow"])
    assert outcome.choices == ("Today", "Tomorrow")
    assert outcome.response["shown"].startswith("below your answer")


@pytest.mark.parametrize(
    "choices", [["Today"], ["Today", "Today"], ["a", " "], ["a"] * 5, ["a", "b" * 21], "ab"]
)
async def test_what_is_no_choice_is_refused(choices: object) -> None:
    """Too few, too many, too long, or without words."""
    outcome = await offer(choices=choices)
    assert outcome.response["error"].startswith("invalid parameters")
    assert outcome.choices == ()
