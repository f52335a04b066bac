"""A mistake in a tool's schema is named, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from bot.cli.new_tool import write_tool
from bot.errors import SettingsError
from bot.plugins import open_tools
from bot.settings import load
from toolset.schema import KEYWORDS, BadSchema, Schema


def with_text(**rules: Any) -> dict[str, Any]:
    """A schema of one text."""
    return {"type": "object", "properties": {"text": {"type": "string", **rules}}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (
            with_text(maxLenght=200),
            "at properties.text: unknown keyword maxLenght; did you mean maxLength?",
        ),
        (with_text(quux=1), "at properties.text: unknown keyword quux"),
        (
            {"type": "object", "additionalProperty": False},
            ": unknown keyword additionalProperty; did you mean addit",
        ),
        (
            with_text(anyOf=[{}, {"enums": [1]}]),
            "at properties.text.anyOf[1]: unknown keyword enums; did you mean",
        ),
        (
            with_text(items={"minimun": 1}),
            "at properties.text.items: unknown keyword minimun; did you mean minimum?",
        ),
        (
            {"type": "object", "$defs": {"day": {"formt": "date"}}},
            "at $defs.day: unknown keyword formt; did you mean",
        ),
        (with_text(minLength=-1), "at properties.text.minLength: -1 is less than the minimum of 0"),
        (with_text(type="text"), "at properties.text.type: 'text' is not valid"),
        ({"type": "object", "required": True}, "at required: True is not of type 'array'"),
    ],
)
def test_a_fault_has_a_path_and_an_unknown_keyword_a_name(
    schema: dict[str, Any], fault: str
) -> None:
    """A misspelled limit would be no limit."""
    with pytest.raises(BadSchema) as refused:
        Schema(schema)
    assert str(refused.value).removeprefix("is invalid").strip().startswith(fault)


def test_names_of_properties_and_values_are_no_keywords() -> None:
    """Nor are notes, and what the draft itself consists of."""
    notes = {"x-note": "maxLenght", "default": {"a": 1}, "examples": [{"b": 2}], "enum": ["c"]}
    properties = {"maxLenght": {"const": {"d": 3}}, "other": True}
    draft = {**dict(Draft202012Validator.META_SCHEMA), "type": "object"}
    for schema in (with_text(**notes), {"type": "object", "properties": properties}, draft):
        assert Schema(schema).complaint({}) == ""


async def test_the_start_names_tool_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the line that ends it."""
    path = write_tool("shout", tmp_path).schemas / "parameters.json"
    path.write_text(json.dumps(with_text(maxLenght=200)), "utf-8")
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    with pytest.raises(SettingsError) as refused:
        async with open_tools(load()):
            pass
    place = (
        "the parameters schema is invalid at properties.text: unknown keyword maxLenght; did you "
        "mean maxLength?"
    )
    assert str(refused.value) == f"tools: {tmp_path}/shout.py: tool shout: {place}"


WRONG_OR_RIGHT: tuple[Any, ...] = (
    0,
    1.5,
    "",
    "[",
    [],
    ["a", "a"],
    [{"type": 1}],
    {},
    {"x-[": {"type": 1}},
    True,
    None,
)


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_a_schema_is_checked_as_the_published_draft_says(keyword: str) -> None:
    """Our one document of its vocabularies finds the same faults."""
    for value in WRONG_OR_RIGHT:
        schema = {"type": "object", "properties": {"a": {keyword: value}}}
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError:
            with pytest.raises(BadSchema, match="is invalid"):
                Schema(schema)
        else:
            Schema(schema)
