"""JSON Schema (Draft 2020-12): compiled once, with a short error text for an invalid value."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from typing import Any
from urllib.parse import urljoin

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema_specifications import REGISTRY

COMPLAINT_CAP = 300  # characters of an error text, which quotes the value
NAME_CAP = 64
# All keywords of the draft: those that check something, and those that only say something.
KEYWORDS = {
    *Draft202012Validator.VALIDATORS,
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "else",
    "examples",
    "maxContains",
    "minContains",
    "readOnly",
    "then",
    "title",
    "writeOnly",
}
# The keywords that hold schemas: by name, in a list, or one.
NAMED_SCHEMAS = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
LISTED_SCHEMAS = {"allOf", "anyOf", "oneOf", "prefixItems"}
INNER_SCHEMAS = {
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
}


class BadSchema(Exception):
    """The schema is invalid, or not one of an object."""


class Schema:
    """A compiled schema of an object.

    Raises:
        BadSchema: it is invalid, or not one of an object.
    """

    def __init__(self, schema: Any) -> None:
        if error := best_match(_metaschema().iter_errors(schema)):
            raise BadSchema(
                f"is invalid{_at(error.json_path)}: {shortened(error.message, COMPLAINT_CAP)}"
            )
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise BadSchema("must have type object")
        _refuse_unknown_keywords(schema)
        self._validator = Draft202012Validator(schema)

    def rule_broken(self, instance: object) -> str:
        """The path in the schema of the rule that a value breaks, for logs, which must not quote
        the value."""
        try:
            error = best_match(self._validator.iter_errors(instance))
        except RecursionError:
            return "nested too deeply"
        except (ArithmeticError, ValueError):
            return "multipleOf"
        return "/".join(map(str, error.absolute_schema_path)) if error else ""

    def complaint(self, instance: object) -> str:
        """What is wrong with a value, which the text quotes; empty for a valid one."""
        try:
            error = best_match(self._validator.iter_errors(instance))
        except RecursionError:
            return "nested too deeply"
        except (ArithmeticError, ValueError):  # of numbers that cannot be divided
            return "has a number that cannot be checked"
        if error is None:
            return ""
        where = f"{error.json_path.removeprefix('$.')}: " if error.absolute_path else ""
        return where + shortened(error.message, COMPLAINT_CAP)


@cache
def _metaschema() -> Draft202012Validator:
    """What checks a schema: the draft's vocabularies as one document.

    As they are published they refer to each other at every level, which takes six times as long:
    a tenth of a start with all tools.
    """
    published = Draft202012Validator.META_SCHEMA
    properties: dict[str, Any] = dict(published["properties"])
    definitions: dict[str, Any] = {}
    for part in published["allOf"]:
        vocabulary = REGISTRY.contents(urljoin(published["$id"], part["$ref"]))
        properties |= vocabulary["properties"]
        definitions |= vocabulary.get("$defs", {})
    document = {
        "type": ["object", "boolean"],
        "properties": properties,
        "$defs": definitions,
    }
    text = json.dumps(document).replace('"$dynamicRef": "#meta"', '"$ref": "#"')
    return Draft202012Validator(
        json.loads(text), format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def _refuse_unknown_keywords(schema: dict[str, Any]) -> None:
    """Refuse a keyword that JSON Schema does not have: it would be ignored, and a limit would not
    hold.

    Names that begin with ``x-`` are for notes.

    Raises:
        BadSchema: with the path and a similar keyword.
    """
    waiting: list[tuple[str, Any]] = [("$", schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, dict):  # true and false are schemas, too
            continue
        for keyword, value in node.items():
            if keyword not in KEYWORDS and not keyword.startswith("x-"):
                similar = get_close_matches(keyword, KEYWORDS, 1)
                hint = f"; did you mean {similar[0]}?" if similar else ""
                raise BadSchema(
                    f"is invalid{_at(path)}: unknown keyword {shortened(keyword, NAME_CAP)}{hint}"
                )
            below = f"{path}.{keyword}"
            if keyword in NAMED_SCHEMAS:
                waiting += [(f"{below}.{name}", inner) for name, inner in value.items()]
            elif keyword in LISTED_SCHEMAS:
                waiting += [(f"{below}[{index}]", inner) for index, inner in enumerate(value)]
            elif keyword in INNER_SCHEMAS:
                waiting.append((below, value))


def _at(path: str) -> str:
    """Where in a schema, by its JSON path."""
    return f" at {path.removeprefix('$.')}" if path != "$" else ""


def shortened(text: str, cap: int) -> str:
    """The text, without its middle if it is too long: the reason stands at the end, after the
    quoted value."""
    return text if len(text) <= cap else f"{text[: cap // 2]} … {text[-cap // 2 :]}"


def is_deeper(value: Any, levels: int) -> bool:
    """Whether it has more levels than these; a loop that ends there, whatever the value."""
    level = [value]
    for _ in range(levels):
        inside = [
            one.values() if isinstance(one, dict) else one
            for one in level
            if isinstance(one, dict | list)
        ]
        level = [one for ones in inside for one in ones]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)
