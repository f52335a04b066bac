"""``remember`` and ``forget_fact``: they use the facts of their context, and say so where there are
none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.features.memory.store import FACTS, Fact, PersonFacts
from bot.features.memory.tools import ForgetFact, Remember
from bot.store import Store
from tests.toolset.contexts import context
from toolset.tool import Tool, ToolOutcome, ValidatedTool, read_schemas


async def call(tool: Tool, facts: PersonFacts | None, **arguments: Any) -> ToolOutcome:
    """Call it between its schemas."""
    return await ValidatedTool(tool, *read_schemas(tool.name)).call(
        arguments, replace(context(), find_store={PersonFacts: facts}.get)
    )


@pytest.fixture
def facts(store: Store) -> PersonFacts:
    """Those of one person in one place."""
    return PersonFacts(store, "mailbox:room", "u1")


@pytest.fixture
def remember() -> Remember:
    """The tool."""
    return Remember()


@pytest.fixture
def forget_fact() -> ForgetFact:
    """The tool."""
    return ForgetFact()


async def test_a_fact_is_kept_as_it_is_worded(remember: Remember, facts: PersonFacts) -> None:
    """In one line; the number goes back to the model, for a later deletion."""
    outcome = await call(remember, facts, text=" Hanako is\u200b a\nvegetarian.")
    assert outcome == ToolOutcome({"number": 1})
    assert await facts.read() == [Fact(1, "Hanako is a vegetarian.")]


async def test_too_many_facts_are_an_error(remember: Remember, facts: PersonFacts) -> None:
    """It says what people can do."""
    for number in range(FACTS):
        await facts.remember(f"fact {number}")
    outcome = await call(remember, facts, text="x")
    assert "100 facts are remembered here already" in str(outcome.response)


@pytest.mark.parametrize("text", ["", "\u200b", "長" * 201])
async def test_a_fact_has_one_to_two_hundred_characters(
    remember: Remember, facts: PersonFacts, text: str
) -> None:
    """Nothing else is kept."""
    assert (await call(remember, facts, text=text)).is_error
    assert await facts.read() == []


async def test_a_fact_is_forgotten_by_its_number(
    forget_fact: ForgetFact, facts: PersonFacts
) -> None:
    """A number that no fact has had is an error."""
    await facts.remember("x")
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
