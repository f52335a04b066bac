"""A server's JSON Schema in a form that is cheap to check and that every vendor takes.

References are put in place. What may take long to check is left out: ``pattern`` (a hostile
expression may run for years), ``uniqueItems``, ``not`` and conditions. The result allows at least
what the server's own schema allows, and the server checks its arguments itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolset.tool import ToolSetupError
from toolset.web.json_values import target_of
from toolset.web.text import one_line

SCHEMA_BYTES = 16 * 1024
# This counts after references are put in place: each request to a model has all of it.
INLINED_BYTES = 64 * 1024
# A schema holds so many schemas at most, after references are put in place.
MOST_NODES = 1_000
DEEPEST = 32
# A description inside a schema has so many characters at most.
TEXT_CAP = 500

ONE = {"items", "additionalProperties", "contains", "propertyNames"}
SEVERAL = {"anyOf", "allOf", "prefixItems"}
NAMED = {"properties"}
PLAIN = {
    "type",
    "enum",
    "const",
    "default",
    "format",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "minItems",
    "maxItems",
    "minContains",
    "minLength",
    "maxLength",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
}


def plain_schema(schema: Any) -> dict[str, Any]:
    """The schema of an object, without references, and bounded.

    Raises:
        ToolSetupError: it is too large, or refers to something that is not in it.
    """
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise ToolSetupError("its schema is not one of an object")
    try:
        size = len(json.dumps(schema, allow_nan=False).encode())
    except RecursionError:
        raise ToolSetupError("its schema is nested too deeply") from None
    except ValueError:
        raise ToolSetupError("its schema has a number that is not JSON") from None
    if size > SCHEMA_BYTES:
        raise ToolSetupError(f"its schema has {size} bytes; {SCHEMA_BYTES} are possible")
    plain = {**_Inliner(schema).node(schema, (), 0), "type": "object"}
    if (size := len(json.dumps(plain))) > INLINED_BYTES:
        raise ToolSetupError(
            f"its schema has {size} bytes with its references; {INLINED_BYTES} are possible"
        )
    return plain


class _Inliner:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, schema: Any, through: tuple[str, ...], depth: int) -> dict[str, Any]:
        """One schema; ``through`` holds the references that led here."""
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > DEEPEST:
            raise ToolSetupError("its schema is nested too deeply, or repeats itself too often")
        if not isinstance(schema, Mapping):
            raise ToolSetupError("its schema is invalid")
        if "$ref" in schema:
            ref = schema["$ref"]
            if ref in through:
                # A schema that contains itself allows anything.
                return {}
            beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
            return self.node({**self._target(ref), **beside}, (*through, ref), depth + 1)
        plain: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in PLAIN:
                plain[keyword] = value
            elif keyword == "description":
                # Titles are left out: they repeat names, and cost tokens in every request.
                plain[keyword] = one_line(str(value))[:TEXT_CAP]
            elif keyword in ONE:
                plain[keyword] = self._inner(value, through, depth)
            elif keyword in SEVERAL or keyword == "oneOf":
                if keyword == "oneOf" and "anyOf" not in schema:
                    keyword = "anyOf"
                plain[keyword] = [self._inner(one, through, depth) for one in _a(list, value)]
            elif keyword in NAMED:
                plain[keyword] = {
                    str(name): self._inner(one, through, depth)
                    for name, one in _a(dict, value).items()
                }
        if "patternProperties" in schema:
            # What the patterns allow must stay allowed.
            plain.pop("additionalProperties", None)
        if schema.keys() >= {"oneOf", "anyOf"}:
            # The other branches say enough.
            plain.pop("oneOf", None)
        return plain

    def _inner(self, value: Any, through: tuple[str, ...], depth: int) -> Any:
        if isinstance(value, bool):
            return value
        return self.node(value, through, depth + 1)

    def _target(self, ref: Any) -> Mapping[str, Any]:
        target = target_of(ref, self._root)
        if not isinstance(target, dict):
            raise ToolSetupError("its schema refers to something that is not in it")
        return target


def _a(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise ToolSetupError("its schema is invalid")
    return value
