"""JSON Schema made to fit a vendor, with every loss named."""

from __future__ import annotations

from typing import Any

import pytest

from bot.providers.openai.request import COMPATIBLE, LOOSE, STRICT
from bot.providers.shared.schema_dialect import AdaptedSchema, Dialect, adapt, strict_form
from tests.bot.providers.asking import declared

BARE = Dialect(
    frozenset({"type", "properties", "required", "items", "enum", "description", "format"}),
    frozenset({"date"}),
)
UNIONS = Dialect(BARE.keywords | {"anyOf", "additionalProperties"})
STRING = {"type": "string"}


def adapted(
    properties: dict[str, Any], dialect: Dialect = BARE, defs: Any = None
) -> tuple[Any, tuple[str, ...]]:
    """What becomes of an object's properties, and what is lost."""
    made = adapt({"type": "object", "properties": properties, "$defs": defs or {}}, dialect)
    assert made.schema["type"] == "object"
    return made.schema["properties"], made.losses


def test_what_is_known_stays_as_it_is() -> None:
    """Byte for byte, so that requests cache."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"]}},
        "required": ["a"],
    }
    assert adapt(schema, BARE) == AdaptedSchema(schema, ())


def test_what_is_not_known_is_dropped_and_named() -> None:
    """At every depth, with its place."""
    inner = {"type": "array", "items": {"type": "string", "pattern": "^x"}, "maxItems": 3}
    made = adapt(
        {"type": "object", "properties": {"a": inner}, "additionalProperties": False}, BARE
    )
    assert made.schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": STRING}},
    }
    assert made.losses == (
        "/properties/a/items: pattern",
        "/properties/a: maxItems",
        "/: additionalProperties",
    )


def test_formats_have_a_list_of_their_own() -> None:
    """One that is not known is dropped, unless any is taken."""
    properties = {
        "a": {"type": "string", "format": "date"},
        "b": {"type": "string", "format": "iban"},
    }
    assert adapted(properties) == ({"a": properties["a"], "b": STRING}, ("/properties/b: format",))
    assert adapted(properties, UNIONS) == (properties, ())


def test_references_are_inlined() -> None:
    """With what stands beside them; nothing is lost, and no definitions are left."""
    made = adapt(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/place", "description": "Where"},
                "b": {"$ref": "#/$defs/a~1b"},
            },
            "$defs": {"place": {"type": "string"}, "a/b": {"$ref": "#/$defs/place"}},
        },
        BARE,
    )
    properties = {"a": {"type": "string", "description": "Where"}, "b": STRING}
    assert made == AdaptedSchema({"type": "object", "properties": properties}, ())


def test_a_reference_to_itself_or_elsewhere_is_lost() -> None:
    """It allows anything from there on."""
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}}
    properties, losses = adapted(
        {"a": {"$ref": "#/$defs/tree"}, "b": {"$ref": "https://x/y"}, "c": {"$ref": "#/nowhere"}},
        defs={"tree": tree},
    )
    assert properties == {"a": {"type": "object", "properties": {"next": {}}}, "b": {}, "c": {}}
    assert losses == (
        "/properties/a/properties/next: $ref",
        "/properties/b: $ref",
        "/properties/c: $ref",
    )


def test_unions_are_rephrased() -> None:
    """``const`` as ``enum``, ``oneOf`` as ``anyOf``, ``allOf`` as one object."""
    one_of = {"oneOf": [STRING, {"const": 5}]}
    all_of = {
        "allOf": [
            {"$ref": "#/$defs/base"},
            {"type": "object", "properties": {"y": STRING}, "required": ["y"]},
        ]
    }
    base = {"type": "object", "properties": {"x": STRING}, "required": ["x"]}
    properties, losses = adapted({"a": one_of, "b": all_of}, UNIONS, {"base": base})
    assert properties == {
        "a": {"anyOf": [STRING, {"enum": [5]}]},
        "b": {"type": "object", "properties": {"x": STRING, "y": STRING}, "required": ["x", "y"]},
    }
    assert losses == ("/properties/a: oneOf read as anyOf",)


def test_the_top_is_an_object_without_unions() -> None:
    """No vendor takes another one for arguments."""
    assert adapt({"anyOf": [STRING]}, UNIONS) == AdaptedSchema(
        {"type": "object", "properties": {}}, ("/: anyOf",)
    )
    assert adapt({}, BARE) == AdaptedSchema({"type": "object", "properties": {}}, ())


def test_an_array_says_what_it_holds() -> None:
    """OpenAI refuses one that does not; a schema may also be just true."""
    assert adapted({"a": {"type": "array"}, "b": True}) == (
        {"a": {"type": "array", "items": {}}, "b": {}},
        (),
    )


PATTERNS = {"get_weather": "location", "set_reminder": "text"}


@pytest.mark.parametrize(
    ("dialect", "losses"),
    [
        (LOOSE, {}),
        (
            COMPATIBLE.loose,
            {name: (f"/properties/{text}: pattern",) for name, text in PATTERNS.items()},
        ),
        (
            STRICT,
            {
                "add_to_list": (
                    "/properties/list: minLength",
                    "/properties/list: maxLength",
                    "/properties/items/items: minLength",
                    "/properties/items/items: maxLength",
                ),
                "calculate": (
                    "/properties/expression: minLength",
                    "/properties/expression: maxLength",
                ),
                "convert_currency": (
                    "/properties/from: minLength",
                    "/properties/from: maxLength",
                    "/properties/to: minLength",
                    "/properties/to: maxLength",
                    "/properties/date: maxLength",
                ),
                "convert_units": (
                    "/properties/from: minLength",
                    "/properties/from: maxLength",
                    "/properties/to: minLength",
                    "/properties/to: maxLength",
                ),
                "create_image": ("/properties/prompt: minLength", "/properties/prompt: maxLength"),
                "delete_file": ("/properties/path: minLength", "/properties/path: maxLength"),
                "cancel_reminder": ("/properties/id: minLength", "/properties/id: maxLength"),
                "get_current_time": (
                    "/properties/time_zone: minLength",
                    "/properties/time_zone: maxLength",
                ),
                "get_holidays": (
                    "/properties/country: minLength",
                    "/properties/country: maxLength",
                    "/properties/region: maxLength",
                ),
                "get_earthquakes": ("/properties/place: maxLength",),
                "get_news": ("/properties/topic: maxLength",),
                "offer_choices": (
                    "/properties/choices/items: minLength",
                    "/properties/choices/items: maxLength",
                ),
                "get_warnings": ("/properties/place: minLength", "/properties/place: maxLength"),
                "show_list": ("/properties/list: minLength", "/properties/list: maxLength"),
                "get_weather": (
                    "/properties/location: minLength",
                    "/properties/location: maxLength",
                ),
                "list_files": (
                    "/properties/path: maxLength",
                    "/properties/glob: minLength",
                    "/properties/glob: maxLength",
                ),
                "start_poll": (
                    "/properties/question: minLength",
                    "/properties/question: maxLength",
                    "/properties/options/items: minLength",
                    "/properties/options/items: maxLength",
                ),
                "read_file": ("/properties/path: minLength", "/properties/path: maxLength"),
                "read_web_page": ("/properties/url: minLength", "/properties/url: maxLength"),
                "remember": ("/properties/text: minLength", "/properties/text: maxLength"),
                "set_reminder": (
                    "/properties/text: minLength",
                    "/properties/text: maxLength",
                    "/properties/at: maxLength",
                    "/properties/in: maxLength",
                    "/properties/repeat: maxLength",
                ),
                "run_command": ("/properties/command/items: maxLength",),
                "search_files": (
                    "/properties/text: minLength",
                    "/properties/text: maxLength",
                    "/properties/path: maxLength",
                ),
                "web_search": ("/properties/query: minLength", "/properties/query: maxLength"),
                "wikipedia": ("/properties/query: minLength", "/properties/query: maxLength"),
                "write_file": (
                    "/properties/path: minLength",
                    "/properties/path: maxLength",
                    "/properties/content: maxLength",
                ),
            },
        ),
    ],
    ids=["loose", "loose elsewhere", "strict"],
)
def test_what_openai_is_not_told_of_our_own_tools(
    dialect: Dialect, losses: dict[str, tuple[str, ...]]
) -> None:
    """The whole list, so that a new loss is noticed."""
    assert {
        tool.name: made for tool in declared() if (made := adapt(tool.parameters, dialect).losses)
    } == losses


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
