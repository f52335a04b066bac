"""``start_poll``: it uses the polls of its context, and says so where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.features.polls.tool_polls import ToolPolls
from bot.features.polls.tools import StartPoll
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome, ValidatedTool, read_schemas

FOOD = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}


class PollsInMemory:
    """Polls of one place (``ToolPolls``).

    Attributes:
        asked: the last call.
    """

    def __init__(self) -> None:
        self.asked: tuple[Any, ...] = ()

    async def start(
        self, question: str, options: Sequence[str], *, multiple: bool, idempotency_key: str
    ) -> str:
        self.asked = (question, options, multiple, idempotency_key)
        return "poll_1"


async def call(polls: PollsInMemory | None, **arguments: Any) -> ToolOutcome:
    """Call it between its schemas."""
    return await ValidatedTool(StartPoll(), *read_schemas("start_poll")).call(
        arguments, replace(context(), find_store={ToolPolls: polls}.get)
    )


@pytest.mark.parametrize("given", [{}, {"multiple": True}])
async def test_a_poll_is_started_with_the_calls_key(given: dict[str, bool]) -> None:
    """One vote a person unless several are asked for; the poll's id goes back to the model."""
    polls = PollsInMemory()
    assert await call(polls, **FOOD, **given) == ToolOutcome({"poll": "poll_1"})
    assert polls.asked == ("Where do we eat?", ["Sushi", "Curry"], bool(given), "key_1")


@pytest.mark.parametrize(
    "given",
    [
        {"options": ["one"]},
        {"options": ["x"] * 11},
        {"options": ["a", "b" * 61]},
        {"question": "?" * 201},
        {"to": "x"},
    ],
)
async def test_what_no_buttons_can_show_is_no_poll(given: dict[str, Any]) -> None:
    """Two to ten short options, and a short question."""
    polls = PollsInMemory()
    assert (await call(polls, **FOOD | given)).is_error
    assert polls.asked == ()


async def test_somebody_unknown_starts_no_poll() -> None:
    """Nobody could close it."""
    assert "not known who asks" in str((await call(None, **FOOD)).response)


def test_read_only_does_not_offer_it() -> None:
    """It changes what is stored."""
    definition = ValidatedTool(StartPoll(), *read_schemas("start_poll")).definition
    assert (definition.risk, definition.only_reads, definition.idempotent) == ("low", False, True)
