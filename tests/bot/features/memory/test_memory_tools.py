"""``remember`` and ``forget_fact``: they use the facts of their context, and say so where there are
none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.features.memory.tool_facts import ToolFacts
from bot.features.memory.tools import ForgetFact, Remember
from tests.toolset.contexts import context, http_client
from toolset.tool import NoConfig, Tool, ToolError, ToolOutcome, ValidatedTool, read_schemas


class FactsInMemory:
    """Facts of nobody in particular (``ToolFacts``)."""

    def __init__(self, room: int = 100) -> None:
        self.stored: list[str] = []
        self._room = room

    async def remember(self, text: str) -> int:
        if len(self.stored) == self._room:
            raise ToolError("full")
        self.stored.append(text)
        return len(self.stored)

    async def forget(self, number: int) -> bool:
        return number <= len(self.stored)


async def call(tool: Tool, facts: FactsInMemory | None, **arguments: Any) -> ToolOutcome:
    """Call it between its schemas."""
    return await ValidatedTool(tool, *read_schemas(tool.name)).call(
        arguments, replace(context(), find_store={ToolFacts: facts}.get)
    )


@pytest.fixture
async def remember() -> Remember:
    """The tool."""
    async with http_client() as http:
        return Remember.create(http, NoConfig())


@pytest.fixture
async def forget_fact() -> ForgetFact:
    """The tool."""
    async with http_client() as http:
        return ForgetFact.create(http, NoConfig())


async def test_a_fact_is_kept_as_it_is_worded(remember: Remember) -> None:
    """The number goes back to the model, for a later deletion."""
    facts = FactsInMemory()
    assert await call(remember, facts, text="Hanako is a vegetarian.") == ToolOutcome({"number": 1})
    assert facts.stored == ["Hanako is a vegetarian."]


async def test_too_many_facts_are_an_error(remember: Remember) -> None:
    """In the words of the store."""
    assert await call(remember, FactsInMemory(0), text="x") == ToolOutcome.error("full")


@pytest.mark.parametrize("text", ["", "長" * 201])
async def test_a_fact_has_one_to_two_hundred_characters(remember: Remember, text: str) -> None:
    """Nothing else reaches the store."""
    facts = FactsInMemory()
    assert (await call(remember, facts, text=text)).is_error
    assert facts.stored == []


async def test_a_fact_is_forgotten_by_its_number(
    remember: Remember, forget_fact: ForgetFact
) -> None:
    """A number that no fact has had is an error."""
    facts = FactsInMemory()
    await call(remember, facts, text="x")
    assert await call(forget_fact, facts, number=1) == ToolOutcome({"forgotten": 1})
    assert await call(forget_fact, facts, number=2) == ToolOutcome.error(
        "there is no fact with number 2"
    )


async def test_without_a_known_person_nothing_is_kept(
    remember: Remember, forget_fact: ForgetFact
) -> None:
    """Such as in a group whose platform does not say who writes, and by ``kaiwa tools call``."""
    for outcome in (await call(remember, None, text="x"), await call(forget_fact, None, number=1)):
        assert outcome.response["error"].endswith("it is not known who asks")


def test_both_write(remember: Remember, forget_fact: ForgetFact) -> None:
    """So READ_ONLY offers neither; a repeated call does no harm."""
    for tool in (remember, forget_fact):
        definition = ValidatedTool(tool, *read_schemas(tool.name)).definition
        assert (
            definition.risk,
            definition.writes,
            definition.only_reads,
            definition.idempotent,
        ) == (
            "low",
            True,
            False,
            True,
        )
