"""JSON Schema made to fit a vendor, without what it does not take."""

from __future__ import annotations

from typing import Any

import pytest

from bot.providers.shared.schema_dialect import Dialect, adapt, strict_form

BARE = Dialect(
    frozenset({"type", "properties", "required", "items", "enum", "description", "format"}),
    frozenset({"date"}),
)
UNIONS = Dialect(BARE.keywords | {"anyOf", "additionalProperties"})
STRING = {"type": "string"}


def adapted(properties: dict[str, Any], dialect: Dialect = BARE, defs: Any = None) -> Any:
    """What becomes of an object's properties."""
    made = adapt({"type": "object", "properties": properties, "$defs": defs or {}}, dialect)
    assert made.keys() == {"type", "properties"}
    return made["properties"]


def test_what_is_known_stays_as_it_is_and_the_rest_is_dropped() -> None:
    """Byte for byte, so that requests cache; at every depth."""
    known = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}
    assert adapt(known | {"required": ["a"]}, BARE) == known | {"required": ["a"]}
    inner = {"type": "array", "items": {"type": "string", "pattern": "^x"}, "maxItems": 3}
    whole = {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    bare = {"a": {"type": "array", "items": STRING}}
    assert adapt(whole, BARE) == {"type": "object", "properties": bare}


def test_formats_have_a_list_of_their_own() -> None:
    """One that is not known is dropped, unless any is taken."""
    properties = {"a": STRING | {"format": "date"}, "b": STRING | {"format": "iban"}}
    assert adapted(properties) == {"a": properties["a"], "b": STRING}
    assert adapted(properties, UNIONS) == properties


def test_references_are_inlined() -> None:
    """With what stands beside them; no definitions are left. One to itself or elsewhere allows
    anything from there on."""
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}
    defs = {"place": STRING, "a/b": {"$ref": "#/$defs/place"}, "tree": tree}
    properties = {
        "a": {"$ref": "#/$defs/place", "description": "Where"},
        "b": {"$ref": "#/$defs/a~1b"},
        "c": {"$ref": "#/$defs/tree"},
        "d": {"$ref": "https://x/y"},
        "e": {"$ref": "#/nowhere"},
    }
    assert adapted(properties, defs=defs) == {
        "a": STRING | {"description": "Where"},
        "b": STRING,
        "c": {"type": "object", "properties": {"next": {}}},
        "d": {},
        "e": {},
    }


def test_unions_are_rephrased() -> None:
    """``const`` as ``enum``, ``oneOf`` as ``anyOf``, ``allOf`` as one object."""
    one_of = {"oneOf": [STRING, {"const": 5}]}
    other = {"type": "object", "properties": {"y": STRING}, "required": ["y"]}
    all_of = {"allOf": [{"$ref": "#/$defs/base"}, other]}
    base = {"type": "object", "properties": {"x": STRING}, "required": ["x"]}
    assert adapted({"a": one_of, "b": all_of}, UNIONS, {"base": base}) == {
        "a": {"anyOf": [STRING, {"enum": [5]}]},
        "b": {"type": "object", "properties": {"x": STRING, "y": STRING}, "required": ["x", "y"]},
    }


def test_the_top_is_an_object_without_unions() -> None:
    """No vendor takes another one for arguments."""
    for schema in ({"anyOf": [STRING]}, {}):
        assert adapt(schema, UNIONS) == {"type": "object", "properties": {}}


def test_an_array_says_what_it_holds() -> None:
    """OpenAI refuses one that does not; a schema may also be just true."""
    array = {"type": "array"}
    assert adapted({"a": array, "b": True}) == {"a": array | {"items": {}}, "b": {}}


def test_strict_closes_what_can_be_closed() -> None:
    """Every object, at every depth."""
    inner = {"type": "object", "properties": {"x": STRING}, "required": ["x"]}
    schema = {
        "type": "object",
        "properties": {
            "a": inner,
            "b": {"type": "array", "items": inner},
            "c": {"anyOf": [inner, {"type": "null"}]},
        },
        "required": ["c", "b", "a"],
    }
    strict = {**inner, "additionalProperties": False}
    assert strict_form(schema) == {
        "type": "object",
        "properties": {
            "a": strict,
            "b": {"type": "array", "items": strict},
            "c": {"anyOf": [strict, {"type": "null"}]},
        },
        "required": ["a", "b", "c"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "one",
    [
        {"type": "object", "properties": {"x": STRING}},
        {"type": "object", "properties": {}, "additionalProperties": STRING},
        {},
        {"type": "array", "items": {}},
        {"anyOf": [STRING, {}]},
    ],
)
def test_strict_forbids_nothing_that_is_allowed(one: dict[str, Any]) -> None:
    """An optional property, free names, anything at all: then not strict."""
    assert strict_form({"type": "object", "properties": {"a": one}, "required": ["a"]}) is None
