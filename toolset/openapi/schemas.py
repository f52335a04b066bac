"""Schemas of an OpenAPI document as schemas of arguments: without references, and with a limit for
everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolset.web.json_values import as_list, as_object
from toolset.web.text import one_line

JSON = dict[str, Any]

MAX_DEPTH = 10
# One operation has so many nodes at most: references to references grow without limit.
MAX_NODES = 2_000
MAX_PROPERTIES = 100
# A list or a map has so many entries at most, unless the document says less.
MAX_ENTRIES = 50
# An enumeration has so many values at most.
MAX_VALUES = 200
TEXT_CAP, USUAL_TEXT_CAP = 10_000, 2_000  # characters
DESCRIPTION_CAP = 300
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")
ANY: JSON = {"type": ["string", "number", "boolean", "null"], "maxLength": USUAL_TEXT_CAP}


class BadDocument(Exception):
    """The document, or an operation of it, cannot be used; the text is for the operator."""


class SchemaReader:
    """Reads the schemas of one operation.

    Patterns are left out: matching them could take forever. What refers to itself ends where it
    does.

    Args:
        resolve: the target of a reference; raises ``BadDocument``.
    """

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        self._resolve = resolve
        self._nodes = 0

    def bounded(self, schema: Any, through: tuple[str, ...] = (), depth: int = 0) -> JSON | None:
        """The schema with limits; None for what no value fits, or what is nested too deeply.

        Args:
            through: the references that led here.

        Raises:
            BadDocument: it is too large, or a reference leads nowhere.
        """
        self._count_node()
        if schema is True or schema == {}:
            return dict(ANY)
        if not isinstance(schema, dict) or depth > MAX_DEPTH:
            return None
        if isinstance(ref := schema.get("$ref"), str):
            if ref in through:
                return None
            target = self._resolve(ref)
            if isinstance(target, dict):
                beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
                target = {**target, **beside}
            return self.bounded(target, (*through, ref), depth + 1)
        merged = self._merged(schema, through, depth)
        found = None
        if "properties" not in merged:
            found = self._union(merged, through, depth)
        if found is None:
            found = self._typed(merged, through, depth)
        description = summary(merged.get("description") or merged.get("title"), DESCRIPTION_CAP)
        if found and description:
            return {**found, "description": description}
        return found

    def _count_node(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise BadDocument("its parameters are too large")

    def _merged(self, schema: JSON, through: tuple[str, ...], depth: int) -> JSON:
        """The schema with all of ``allOf`` in it: properties together, otherwise the schema's own
        keywords first."""
        merged: JSON = {}
        for part in [*as_list(schema.get("allOf")), {**schema, "allOf": None}]:
            whole, led = part, through
            while (
                isinstance(whole, dict)
                and isinstance(ref := whole.get("$ref"), str)
                and ref not in led
            ):
                whole, led = self._resolve(ref), (*led, ref)
            if not isinstance(whole, dict) or "$ref" in whole:
                continue
            self._count_node()
            if depth < MAX_DEPTH and as_list(whole.get("allOf")):
                whole = self._merged(whole, led, depth + 1)
            properties = {
                **as_object(merged.get("properties")),
                **as_object(whole.get("properties")),
            }
            required = [*as_list(merged.get("required")), *as_list(whole.get("required"))]
            merged = {**merged, **whole, "required": required}
            if properties:
                merged["properties"] = properties
        return merged

    def _union(self, schema: JSON, through: tuple[str, ...], depth: int) -> JSON | None:
        """``anyOf`` of what can be said; None where the schema has no alternatives."""
        branches = as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))
        if not branches:
            return None
        bounded = [self.bounded(branch, through, depth + 1) for branch in branches[:MAX_ENTRIES]]
        if schema.get("nullable") is True:
            bounded.append({"type": "null"})
        if not any(bounded):
            return None
        return {"anyOf": [branch for branch in bounded if branch is not None]}

    def _typed(self, schema: JSON, through: tuple[str, ...], depth: int) -> JSON | None:
        types = _types(schema)
        values = [value for value in as_list(schema.get("enum")) if _is_scalar(value)][:MAX_VALUES]
        if "const" in schema and _is_scalar(schema["const"]):
            values = [schema["const"]]
        if values and len(types) == 1:
            return {"enum": values, "type": types[0]}
        if values:
            return {"enum": values}
        if not types:
            return dict(ANY)
        bounded: JSON = {"type": types[0] if len(types) == 1 else types}
        if "string" in types:
            bounded |= _text_bounds(schema)
        if "number" in types or "integer" in types:
            bounded |= _number_bounds(schema)
        if "array" in types:
            bounded |= self._array(schema, through, depth)
        if "object" in types:
            properties = self._object(schema, through, depth)
            if properties is None:
                return None
            bounded |= properties
        return bounded

    def _array(self, schema: JSON, through: tuple[str, ...], depth: int) -> JSON:
        most = _count(schema.get("maxItems"), MAX_ENTRIES, MAX_PROPERTIES)
        items = self.bounded(schema.get("items", True), through, depth + 1)
        if items is None:
            return {"items": dict(ANY), "maxItems": 0}
        return {"items": items, "maxItems": most, **_at_least(schema, "minItems", most)}

    def _object(self, schema: JSON, through: tuple[str, ...], depth: int) -> JSON | None:
        """Properties, or a map; None where a required property cannot be said."""
        declared = as_object(schema.get("properties"))
        if not declared:
            values = self.bounded(schema.get("additionalProperties", True), through, depth + 1)
            if values is None:
                return {"properties": {}, "additionalProperties": False}
            limits = {"maxProperties": MAX_ENTRIES, "propertyNames": {"maxLength": 100}}
            return {"additionalProperties": values, **limits}
        if len(declared) > MAX_PROPERTIES:
            raise BadDocument("its parameters are too large")
        names = dict.fromkeys(map(str, as_list(schema.get("required"))))
        properties: JSON = {}
        for name, one in declared.items():
            if as_object(one).get("readOnly"):
                names.pop(name, None)
                continue
            bounded = self.bounded(one, through, depth + 1)
            if bounded is not None:
                properties[name] = bounded
            elif name in names:
                return None
        required = [name for name in names if name in properties]
        return {"properties": properties, "required": required, "additionalProperties": False}


def summary(text: Any, cap: int) -> str:
    """A text of the document in one line."""
    if not isinstance(text, str):
        return ""
    line = one_line(text[: cap * 4])
    return line if len(line) <= cap else f"{line[: cap - 1]}…"


def _types(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("type")
    if not isinstance(given, list):
        given = [given]
    types = [one for one in given if one in TYPES]
    if not types and "properties" in schema:
        types = ["object"]
    elif not types and "items" in schema:
        types = ["array"]
    if types and schema.get("nullable") is True:
        types.append("null")
    return list(dict.fromkeys(types))


def _text_bounds(schema: Mapping[str, Any]) -> JSON:
    most = _count(schema.get("maxLength"), USUAL_TEXT_CAP, TEXT_CAP)
    return {"maxLength": most, **_at_least(schema, "minLength", most)}


def _number_bounds(schema: Mapping[str, Any]) -> JSON:
    bounds = {keyword: schema[keyword] for keyword in BOUNDS if _is_number(schema.get(keyword))}
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(exclusive) is True and inclusive in bounds:
            # Version 3.0 has a flag beside the bound.
            bounds[exclusive] = bounds.pop(inclusive)
    step = bounds.get("multipleOf", 1)
    if not isinstance(step, int) or step < 1:
        # A large number cannot be divided by a fraction.
        del bounds["multipleOf"]
    return bounds


def _count(given: Any, usual: int, most: int) -> int:
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return min(given, most)
    return usual


def _at_least(schema: Mapping[str, Any], keyword: str, most: int) -> JSON:
    fewest = _count(schema.get(keyword), 0, most)
    return {keyword: fewest} if fewest else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_scalar(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, bool)
        or _is_number(value)
        or (isinstance(value, str) and len(value) <= 500)
    )
