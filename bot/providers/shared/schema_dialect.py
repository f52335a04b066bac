"""JSON Schema adapted to a vendor, for requests only: our own validation keeps the full schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = dict[str, Any]

INLINED = {"$ref", "$defs", "definitions"}
# These keywords mean nothing to a model.
SILENT = {"$schema", "$id", "$comment", "$anchor"}
SCHEMAS = {
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
}
LISTS = {"anyOf", "oneOf", "allOf", "prefixItems"}
MAPS = {"properties", "patternProperties", "dependentSchemas"}
VOCABULARY = frozenset(
    {
        "type",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "enum",
        "const",
        "format",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "items",
        "prefixItems",
        "contains",
        "minContains",
        "maxContains",
        "minItems",
        "maxItems",
        "uniqueItems",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "pattern",
        "minLength",
        "maxLength",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
)
UNIONS = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The part of JSON Schema that a vendor takes.

    Attributes:
        keywords: all others are dropped.
        formats: values of ``format``; None for any.
    """

    keywords: frozenset[str]
    formats: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class AdaptedSchema:
    """A schema that fits, and its losses, such as ``/properties/location: pattern``."""

    schema: JSON
    losses: tuple[str, ...]


def adapt(schema: Mapping[str, Any], dialect: Dialect) -> AdaptedSchema:
    """Inline references, drop keywords that the vendor does not take, and list each loss.

    The result describes an object and has no union at its top, which no vendor takes for arguments.
    """
    adapter = _Adapter(schema, dialect)
    top = adapter.adapt(schema, "", ())
    for keyword in sorted(top.keys() & UNIONS):
        adapter.lose("", keyword)
        del top[keyword]
    return AdaptedSchema(
        {**top, "type": "object", "properties": top.get("properties", {})}, tuple(adapter.losses)
    )


def strict_form(schema: JSON) -> JSON | None:
    """An adapted schema in the form of strict modes: every property is required, and no other is
    allowed.

    None where a property is optional or other properties are allowed: strict mode would forbid what
    the tool allows.
    """
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties", {})
        if (
            schema.get("additionalProperties")
            or set(schema.get("required", ())) != properties.keys()
        ):
            return None
        schema = {**schema, "additionalProperties": False, "required": list(properties)}
    elif not schema.keys() & {"type", "enum", "const", "anyOf"}:
        return None
    strict: JSON = {}
    for keyword, value in schema.items():
        changed = _strict_value(keyword, value)
        if changed is None and value is not None:
            return None
        strict[keyword] = changed
    return strict


def _strict_value(keyword: str, value: Any) -> Any:
    if keyword == "items":
        return strict_form(value)
    if keyword == "anyOf":
        branches = list(map(strict_form, value))
        return None if None in branches else branches
    if keyword == "properties":
        inner = {name: strict_form(one) for name, one in value.items()}
        return None if None in inner.values() else inner
    return value


@dataclass(slots=True)
class _Adapter:
    root: Mapping[str, Any]
    dialect: Dialect
    losses: list[str] = field(default_factory=list)

    def lose(self, where: str, keyword: str) -> None:
        self.losses.append(f"{where or '/'}: {keyword}")

    def adapt(self, schema: Any, where: str, through: tuple[str, ...]) -> JSON:
        """One schema; ``through`` holds the references that led here."""
        # True and false are schemas too.
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            return self._inlined(schema, where, through)
        adapted: JSON = {}
        for keyword, value in self._rephrased(schema, where).items():
            if keyword in INLINED or keyword in SILENT:
                continue
            if keyword in self.dialect.keywords and self._is_known(keyword, value):
                adapted[keyword] = self._value(keyword, value, f"{where}/{keyword}", through)
            else:
                self.lose(where, keyword)
        if adapted.get("type") == "array" and "items" in self.dialect.keywords:
            adapted.setdefault("items", {})
        return adapted

    def _is_known(self, keyword: str, value: Any) -> bool:
        return keyword != "format" or self.dialect.formats is None or value in self.dialect.formats

    def _value(self, keyword: str, value: Any, where: str, through: tuple[str, ...]) -> Any:
        if keyword in SCHEMAS and not isinstance(value, bool):
            return self.adapt(value, where, through)
        if keyword in LISTS:
            return [self.adapt(one, f"{where}/{place}", through) for place, one in enumerate(value)]
        if keyword in MAPS:
            return {
                name: self.adapt(one, f"{where}/{name}", through) for name, one in value.items()
            }
        return value

    def _inlined(self, schema: Mapping[str, Any], where: str, through: tuple[str, ...]) -> JSON:
        """The target of a reference merged with its sibling keywords; a reference to itself allows
        anything."""
        ref = schema["$ref"]
        target = self._target(ref)
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        if target is None or ref in through:
            self.lose(where, "$ref")
            return self.adapt(beside, where, through)
        return self.adapt({**target, **beside}, where, (*through, ref))

    def _target(self, ref: Any) -> Mapping[str, Any] | None:
        """The target of a reference inside the schema; None for any other reference."""
        here: Any = self.root
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        for step in ref[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(here, Mapping):
                return None
            here = here.get(name)
        return here if isinstance(here, Mapping) else None

    def _rephrased(self, schema: Mapping[str, Any], where: str) -> JSON:
        """The same with keywords the vendor may take: const as enum, oneOf as anyOf, allOf
        merged."""
        known = self.dialect.keywords
        read = dict(schema)
        if "const" in read and "const" not in known and "enum" in known:
            read.setdefault("enum", [read.pop("const")])
        if "oneOf" in read and "oneOf" not in known and "anyOf" in known and "anyOf" not in read:
            read["anyOf"] = read.pop("oneOf")
            self.lose(where, "oneOf read as anyOf")
        if "allOf" in read and "allOf" not in known:
            read = self._united(read)
        return read

    def _united(self, schema: JSON) -> JSON:
        united = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
        for part in schema["allOf"]:
            if "$ref" in part:
                part = self._target(part["$ref"]) or {}
            for keyword, value in part.items():
                if keyword == "properties":
                    united[keyword] = {**united.get(keyword, {}), **value}
                elif keyword == "required":
                    united[keyword] = list(dict.fromkeys([*united.get(keyword, []), *value]))
                else:
                    united.setdefault(keyword, value)
        return united
