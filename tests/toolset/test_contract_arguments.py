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
from toolset.decorator import schemas_of
from toolset.tool import Tool, ToolOutcome, ValidatedTool

LONGEST = 400  # characters of a complaint

every_tool = pytest.mark.parametrize("tool", toolset.find(), ids=lambda tool: tool.name)


class Spy:
    """Stands in a tool's place and remembers what reached it."""

    def __init__(self, tool: type[Tool]) -> None:
        self.name, self.description, self.risk = tool.name, tool.description, tool.risk
        self.reached: list[object] = []
        self.parameters, response = schemas_of(tool)
        itself: Any = self
        self._validated = ValidatedTool(itself, self.parameters, response)

    async def call(self, arguments: dict[str, Any], context: object) -> dict[str, Any]:
        self.reached.append(arguments)
        return {}

    def refusal(self, arguments: object) -> str:
        """The error that comes of these arguments, before they reach the tool."""
        outcome = asyncio.run(self._validated.call(arguments, context()))
        assert self.reached == []
        text = str(outcome.response["error"])
        assert outcome == ToolOutcome.error(text)
        assert text.startswith("invalid parameters: ")
        assert len(text) < LONGEST
        json.dumps(text)
        return text

    def of_others(self, **changed: object) -> str:
        """The error of arguments that fit but for these."""
        return self.refusal(sample(self.parameters) | changed)


@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_what_does_not_fit_is_refused(data: st.DataObject) -> None:
    """Whatever a model makes up."""
    spy = Spy(data.draw(st.sampled_from(toolset.find())))
    validator = Draft202012Validator(spy.parameters)
    unfit = made_up(spy.parameters).filter(
        lambda value: value not in (None, "") and not validator.is_valid(value)
    )
    spy.refusal(data.draw(unfit))


@every_tool
def test_wrong_arguments_are_named_in_few_words(tool: type[Tool]) -> None:
    """Each of a wrong type, null included; huge texts and lists, which the complaint does not
    quote; options that a model invents; what is no object."""
    spy = Spy(tool)
    huge = {"string": "9" * 1_000_000, "array": ["9"] * 10_000}
    for name, rule in spy.parameters["properties"].items():
        begun = f"invalid parameters: {name}: "
        for wrong in (None, {"x": 1}, 7 if rule["type"] == "array" else ["x"]):
            assert spy.of_others(**{name: wrong}).startswith(f"{begun}{wrong!r} is not of type ")
        if rule["type"] in huge and "enum" not in rule:
            complaint = spy.of_others(**{name: huge[rule["type"]]})
            assert (complaint.startswith(begun), complaint.endswith("is too long")) == (True, True)
    unexpected = "Additional properties are not allowed ('api_key' was unexpected)"
    assert spy.of_others(api_key="x") == f"invalid parameters: {unexpected}"
    no_objects: list[object] = [[], "x", 7, True]
    for no_object in no_objects:
        expected = f"invalid parameters: {no_object!r} is not of type 'object'"
        assert spy.refusal(no_object) == expected


@pytest.mark.parametrize("name", ["get_weather", "calculate", "run_command"])
def test_what_is_nested_without_end_is_refused(name: str) -> None:
    """As an argument, and instead of all."""
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    spy = Spy(next(tool for tool in toolset.find() if tool.name == name))
    spy.refusal(deep)
    for argument in spy.parameters["properties"]:
        spy.of_others(**{argument: deep})
        spy.of_others(**{argument: {"deep": deep}})
