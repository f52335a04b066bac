"""JSON Schema adapted to a vendor, for requests only: our own validation keeps the full schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolset.schema import INNER_SCHEMAS, KEYWORDS, LISTED_SCHEMAS, NAMED_SCHEMAS
from toolset.web.json_values import as_object, target_of

JSON = dict[str, Any]

INLINED = {"$ref", "$defs", "definitions"}
# What a vendor takes that has no dialect of its own.
VOCABULARY = frozenset(keyword for keyword in KEYWORDS if not keyword.startswith("$")) - INLINED
# What every vendor's strict mode takes.
STRICT_KEYWORDS = frozenset(
    (
        "type",
        "title",
        "description",
        "enum",
        "const",
        "format",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
    )
)
STRICT_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
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


def adapt(schema: Mapping[str, Any], dialect: Dialect) -> JSON:
    """Inline references, and drop keywords that the vendor does not take.

    The result describes an object and has no union at its top, which no vendor takes for arguments.
    """
    top = _Adapter(schema, dialect).adapt(schema, ())
    for keyword in top.keys() & UNIONS:
        del top[keyword]
    return {**top, "type": "object", "properties": top.get("properties", {})}


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


@dataclass(frozen=True, slots=True)
class _Adapter:
    root: Mapping[str, Any]
    dialect: Dialect

    def adapt(self, schema: Any, through: tuple[str, ...]) -> JSON:
        """One schema; ``through`` holds the references that led here."""
        # True and false are schemas too.
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            return self._inlined(schema, through)
        adapted: JSON = {}
        for keyword, value in self._rephrased(schema).items():
            if keyword in self.dialect.keywords and self._is_known(keyword, value):
                adapted[keyword] = self._value(keyword, value, through)
        if adapted.get("type") == "array" and "items" in self.dialect.keywords:
            adapted.setdefault("items", {})
        return adapted

    def _is_known(self, keyword: str, value: Any) -> bool:
        return keyword != "format" or self.dialect.formats is None or value in self.dialect.formats

    def _value(self, keyword: str, value: Any, through: tuple[str, ...]) -> Any:
        if keyword in INNER_SCHEMAS and not isinstance(value, bool):
            return self.adapt(value, through)
        if keyword in LISTED_SCHEMAS:
            return [self.adapt(one, through) for one in value]
        if keyword in NAMED_SCHEMAS:
            return {name: self.adapt(one, through) for name, one in value.items()}
        return value

    def _inlined(self, schema: Mapping[str, Any], through: tuple[str, ...]) -> JSON:
        """The target of a reference merged with its sibling keywords; a reference to itself allows
        anything."""
        ref = schema["$ref"]
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        target = {} if ref in through else target_of(ref, self.root)
        return self.adapt({**as_object(target), **beside}, (*through, ref))

    def _rephrased(self, schema: Mapping[str, Any]) -> JSON:
        """The same with keywords the vendor may take: const as enum, oneOf as anyOf, allOf
        merged."""
        known = self.dialect.keywords
        read = dict(schema)
        if "const" in read and "const" not in known and "enum" in known:
            read.setdefault("enum", [read.pop("const")])
        if "oneOf" in read and "oneOf" not in known and "anyOf" in known:
            read.setdefault("anyOf", read.pop("oneOf"))
        if "allOf" in read and "allOf" not in known:
            read = self._united(read)
        return read

    def _united(self, schema: JSON) -> JSON:
        united = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
        for part in schema["allOf"]:
            if "$ref" in part:
                part = as_object(target_of(part["$ref"], self.root))
            for keyword, value in part.items():
                if keyword == "properties":
                    united[keyword] = {**united.get(keyword, {}), **value}
                elif keyword == "required":
                    united[keyword] = list(dict.fromkeys([*united.get(keyword, []), *value]))
                else:
                    united.setdefault(keyword, value)
        return united
