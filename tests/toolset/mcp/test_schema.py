"""A server's schema becomes one without references that is cheap to check, and allows no less."""

from __future__ import annotations

from typing import Any

import pytest

from toolset.mcp.schema import plain_schema
from toolset.schema import Schema
from toolset.tool import ToolSetupError


def of(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def test_references_are_put_in_place() -> None:
    """With what stands beside them; a schema that contains itself allows anything there."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/a~1b"}}}
    schema = of(first={"$ref": "#/$defs/a~1b", "description": "the first"}) | {
        "$defs": {"a/b": node}
    }
    first = {"type": "object", "properties": {"next": {}}, "description": "the first"}
    assert plain_schema(schema) == of(first=first)


def test_what_is_dear_to_check_is_left_out() -> None:
    """And nothing that the server allows is refused for that."""
    schema = {
        **of(
            a={"type": "string", "pattern": "(a+)+$"},
            b={"not": {"pattern": "x"}},
            c={"oneOf": [{}, {"pattern": "y"}]},
        ),
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
        "$schema": "https://json-schema.org/draft-07/schema",
        "if": {},
        "x-own": 1,
    }
    plain = plain_schema(schema)
    assert plain == of(a={"type": "string"}, b={}, c={"anyOf": [{}, {}]})
    assert Schema(plain).complaint({"a": "a" * 40 + "!", "b": "", "x-1": 2}) == ""


def test_what_is_cheap_is_kept() -> None:
    """Types, bounds, choices and their descriptions, in one line."""
    inner = {
        "type": "array",
        "items": {"enum": [1, 2]},
        "maxItems": 3,
        "description": "a\u200b  list\n",
    }
    both = {"anyOf": [{"type": "null"}], "oneOf": [{}]}
    schema = of(a=inner, b=True, c={"allOf": [{"minimum": 1}]}, d=both) | {"required": ["a"]}
    stored = {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 3, "description": "a list"}
    expected = of(
        a=stored, b=True, c={"allOf": [{"minimum": 1}]}, d={"anyOf": [{"type": "null"}]}
    ) | {"required": ["a"]}
    assert plain_schema(schema) == expected


def test_a_missing_type_is_an_objects() -> None:
    """Some servers leave it out where there are no arguments."""
    assert plain_schema({}) == {"type": "object"}


def doubled(levels: int) -> dict[str, Any]:
    """A small schema with two to the power of ``levels`` nodes."""
    ref = [{"$ref": f"#/$defs/a{level}"} for level in range(levels + 1)]
    nested = {f"a{level}": {"allOf": [ref[level + 1]] * 2} for level in range(levels)}
    return of(a=ref[0]) | {"$defs": {**nested, f"a{levels}": {}}}


def nested(levels: int) -> dict[str, Any]:
    """Objects in objects."""
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = of(a=schema)
    return schema


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ([], "not one of an object"),
        ({"type": "array"}, "not one of an object"),
        (of(a={"enum": ["x" * 20_000]}), "bytes; 16384 are possible"),
        (of(a={"$ref": "https://example.com/schema"}), "refers to something that is not in it"),
        (of(a={"$ref": "#/$defs/none"}), "refers to something that is not in it"),
        (of(a={"$ref": 1}), "refers to something that is not in it"),
        (of(a=1), "its schema is invalid"),
        ({"properties": []}, "its schema is invalid"),
        (of(a={"anyOf": {}}), "its schema is invalid"),
        (doubled(20), "nested too deeply, or repeats itself too often"),
        (nested(40), "nested too deeply"),
        (nested(5_000), "nested too deeply"),
    ],
    ids=[
        "list",
        "array",
        "large",
        "remote",
        "missing",
        "number",
        "int",
        "props",
        "any",
        "doubled",
        "deep",
        "deeper",
    ],
)
def test_a_hostile_schema_is_refused(schema: Any, complaint: str) -> None:
    """At once, whatever it would take to check values by it."""
    with pytest.raises(ToolSetupError, match=complaint):
        plain_schema(schema)
