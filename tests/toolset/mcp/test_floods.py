"""What would take the event loop, the memory or a person's place from everybody else."""

from __future__ import annotations

from typing import Any

import pytest

from toolset.mcp.answer import Answer
from toolset.mcp.catalog import Catalog, make_catalog
from toolset.mcp.config import ServerConfig
from toolset.mcp.guard import MOST_VALUES, Pace, has_too_many_values, is_nested_too_deeply
from toolset.mcp.pins import ListedTool
from toolset.mcp.schema import plain_schema
from toolset.offer.rules import Rule
from toolset.schema import Schema
from toolset.tool import ToolSetupError
from toolset.tool_map import ToolMap


async def call(_tool: ListedTool, _arguments: dict[str, Any]) -> Answer:
    return Answer()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_no_json_is_refused(number: float) -> None:
    """It would end every request to a model, and the check of every call."""
    with pytest.raises(ToolSetupError, match="not JSON"):
        plain_schema({"type": "object", "properties": {"n": {"multipleOf": number}}})


def test_a_number_that_cannot_be_divided_is_a_complaint() -> None:
    """An exception would end the turn without an answer."""
    schema = Schema({"type": "object", "properties": {"n": {"multipleOf": 0.5}}})
    assert schema.complaint({"n": 10**400}) == "has a number that cannot be checked"


def test_references_do_not_multiply_a_schema() -> None:
    """15 KiB became 3 MiB in every request to a model."""
    choices = {"enum": [f"{number:05}" for number in range(800)]}
    with pytest.raises(ToolSetupError, match="with its references"):
        plain_schema(
            {
                "type": "object",
                "properties": {"p": {"anyOf": [{"$ref": "#/d"}] * 480}},
                "d": choices,
            }
        )


def test_no_rule_lowers_a_tool_that_has_changed() -> None:
    """The rule was written for what the tool was; with the changed one accepted it holds again."""
    before, now = (ListedTool("find", text, {"type": "object"}) for text in ("Finds.", "Deletes."))
    lowers = Rule.model_validate({"risk": {"s_find": "low"}})
    config, tools = ServerConfig("s", command="x"), ToolMap([], (lowers,))
    catalog = make_catalog(config, [now], {"find": before.digest}, call, Catalog())
    tools.replace("s", catalog.tools)
    assert tools.of_place("slack:C", "U")["s_find"].definition.risk == "high"
    tools.replace("s", make_catalog(config, [now], {"find": now.digest}, call, catalog).tools)
    assert tools.of_place("slack:C", "U")["s_find"].definition.risk == "low"


def test_a_large_message_takes_its_time() -> None:
    """Four megabytes of empty lists, ever again, took all of the event loop from everybody else."""
    assert Pace().take(1, b"[]," * 1_000_000) > 5


@pytest.mark.parametrize(("levels", "is_too_deep"), [(190, False), (191, True), (200_000, True)])
def test_levels_are_counted_outside_of_texts(levels: int, is_too_deep: bool) -> None:
    """The SDK reads no more than 200."""
    assert is_nested_too_deeply(b"[" * levels + b'"[[[["' + b"]" * levels) is is_too_deep
    assert not is_nested_too_deeply(b"[" + b"[]," * levels + b'"' + b"[" * levels + b'"]')


@pytest.mark.parametrize(
    ("message", "is_too_much"),
    [
        (b"[" + b"1," * MOST_VALUES + b"1]", True),
        (b"[" + b"[[[[[[[[]]]]]]]]," * (MOST_VALUES // 8) + b"1]", True),
        (b"[" + b'{"a":1},' * (MOST_VALUES // 2) + b"1]", True),
        (b'["' + b"1,[{" * MOST_VALUES + b'"]', False),
        (b'["' + b'\\",' * MOST_VALUES + b'"]', False),
        (b'["\\\\",' + b"1," * MOST_VALUES + b'"\\\\"]', True),
        (b'"' + b'\\",' * 1_000_000 + b"\\", False),
    ],
    ids=[
        "numbers",
        "lists",
        "objects",
        "a text",
        "a text with marks",
        "texts that end in a backslash",
        "no end",
    ],
)
def test_values_are_counted_outside_of_texts(message: bytes, is_too_much: bool) -> None:
    """A text with a million commas is one value."""
    assert has_too_many_values(message) is is_too_much
