"""A JSON Schema (Draft 2020-12), compiled once, that says in few words what is wrong with a value."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

COMPLAINT_CAP = 300  # characters; a complaint quotes what was given


class BadSchema(Exception):
    """It cannot guard a tool."""


class Schema:
    """What an object must look like.

    Raises:
        BadSchema: no schema, or not one of an object.
    """

    def __init__(self, schema: Any) -> None:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            raise BadSchema(f"is invalid: {error.message}") from error
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise BadSchema("must have type object")
        self._validator = Draft202012Validator(schema)

    def rule_broken(self, instance: object) -> str:
        """Where in the schema the rule stands that a value breaks: it says what is wrong without quoting the value."""
        try:
            error = best_match(self._validator.iter_errors(instance))
        except RecursionError:
            return "nested too deeply"
        return "/".join(map(str, error.absolute_schema_path)) if error else ""

    def complaint(self, instance: object) -> str:
        """What is wrong with a value, quoting it; empty where nothing is."""
        try:
            error = best_match(self._validator.iter_errors(instance))
        except RecursionError:
            return "nested too deeply"
        if error is None:
            return ""
        where = f"{error.json_path.removeprefix('$.')}: " if error.path else ""
        return where + shortened(error.message, COMPLAINT_CAP)


def shortened(text: str, cap: int) -> str:
    """Without its middle where it is too long: what is wrong stands at the end, after the value."""
    return text if len(text) <= cap else f"{text[: cap // 2]} … {text[-cap // 2 :]}"
