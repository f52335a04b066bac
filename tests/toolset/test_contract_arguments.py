"""What does not fit a tool's schema never reaches it, and the model reads why: for every tool in
the folder."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import toolset
from tests.toolset.arguments import made_up, sample
from tests.toolset.contexts import context
from toolset.tool import Tool, ToolOutcome, ValidatedTool, read_schemas

LONGEST = 400  # characters of a complaint

every_tool = pytest.mark.parametrize("tool", toolset.find(), ids=lambda tool: tool.name)


class Spy:
    """Stands in a tool's place and remembers what reached it."""

    def __init__(self, tool: type[Tool]) -> None:
        self.name, self.description, self.risk = tool.name, tool.description, tool.risk
        self.reached: list[object] = []

    async def call(self, arguments: dict[str, Any], context: object) -> dict[str, Any]:
        self.reached.append(arguments)
        return {}


def refusal(tool: type[Tool], arguments: object) -> str:
    """The error that comes of these arguments, before they reach the tool."""
    parameters, response = read_schemas(tool.name)
    spy: Any = Spy(tool)
    outcome = asyncio.run(ValidatedTool(spy, parameters, response).call(arguments, context()))
    assert spy.reached == []
    text = outcome.response["error"]
    assert outcome == ToolOutcome.error(text)
    assert text.startswith("invalid parameters: ")
    assert len(text) < LONGEST
    json.dumps(text)
    return str(text)


@every_tool
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_what_does_not_fit_is_refused(tool: type[Tool], data: st.DataObject) -> None:
    """Whatever a model makes up."""
    parameters, _ = read_schemas(tool.name)
    unfit = made_up(parameters).filter(
        lambda value: value not in (None, "") and not _fits(parameters, value)
    )
    refusal(tool, data.draw(unfit))


def _fits(schema: dict[str, Any], value: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


@every_tool
def test_wrong_types_are_named(tool: type[Tool]) -> None:
    """Each argument, null included."""
    parameters, _ = read_schemas(tool.name)
    for name, rule in parameters["properties"].items():
        for wrong in (None, {"x": 1}, 7 if rule["type"] == "array" else ["x"]):
            reported = refusal(tool, sample(parameters) | {name: wrong})
            assert reported.startswith(f"invalid parameters: {name}: {wrong!r} is not of type ")


@every_tool
def test_an_extra_argument_is_refused(tool: type[Tool]) -> None:
    """Models invent options."""
    reported = refusal(tool, sample(read_schemas(tool.name)[0]) | {"api_key": "x"})
    assert (
        reported
        == "invalid parameters: Additional properties are not allowed ('api_key' was unexpected)"
    )


@every_tool
def test_huge_texts_and_lists_are_refused_in_few_words(tool: type[Tool]) -> None:
    """The complaint does not quote it all."""
    parameters, _ = read_schemas(tool.name)
    huge = {"string": "9" * 1_000_000, "array": ["9"] * 10_000}
    for name, rule in parameters["properties"].items():
        if rule["type"] in huge and "enum" not in rule:
            reported = refusal(tool, sample(parameters) | {name: huge[rule["type"]]})
            assert reported.startswith(f"invalid parameters: {name}: ")
            assert reported.endswith("is too long")


@every_tool
def test_what_is_nested_without_end_is_refused(tool: type[Tool]) -> None:
    """As an argument, and instead of all."""
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    refusal(tool, deep)
    parameters, _ = read_schemas(tool.name)
    for name in parameters["properties"]:
        refusal(tool, sample(parameters) | {name: deep})
        refusal(tool, sample(parameters) | {name: {"deep": deep}})


@every_tool
@pytest.mark.parametrize("arguments", [[], "x", 7, True], ids=str)
def test_what_is_no_object_is_refused(tool: type[Tool], arguments: object) -> None:
    """Whatever the model sends."""
    assert refusal(tool, arguments) == f"invalid parameters: {arguments!r} is not of type 'object'"
