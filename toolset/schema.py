"""JSON Schema (Draft 2020-12): compiled once, with a short error text for an invalid value."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

COMPLAINT_CAP = 300  # characters of an error text, which quotes the value


class BadSchema(Exception):
    """The schema is invalid, or not one of an object."""


class Schema:
    """A compiled schema of an object.

    Raises:
        BadSchema: it is invalid, or not one of an object.
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
        """The path in the schema of the rule that a value breaks, for logs, which must not quote the value."""
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
        where = f"{error.json_path.removeprefix('$.')}: " if error.path else ""
        return where + shortened(error.message, COMPLAINT_CAP)


def shortened(text: str, cap: int) -> str:
    """The text, without its middle if it is too long: the reason stands at the end, after the quoted value."""
    return text if len(text) <= cap else f"{text[: cap // 2]} … {text[-cap // 2 :]}"
