"""Arguments for any tool: some that fit its schema, and any that a model might make up."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def sample(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that fit: every property, by its type."""
    return {name: _fitting(rule) for name, rule in schema["properties"].items()}


def made_up(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Whatever a model may send: the tool's own names with any value, names that it does not know,
    or no object."""
    properties = {
        name: st.just(_fitting(rule)) | JSON for name, rule in schema["properties"].items()
    }
    named = st.fixed_dictionaries({}, optional=properties)
    return (
        named
        | st.builds(
            lambda known, more: known | more, named, st.dictionaries(st.text(), JSON, max_size=2)
        )
        | JSON
    )


def _fitting(rule: dict[str, Any]) -> Any:
    if "enum" in rule:
        return rule["enum"][0]
    by_type = {"string": "Tokyo", "integer": 1, "number": 1.5, "boolean": True, "object": {}}
    if rule["type"] == "array":
        return [_fitting(rule["items"])] * rule.get("minItems", 0)
    return by_type[rule["type"]]
