"""What each vendor is not told of a tool's JSON Schema, found by declaring a tool with each keyword
to each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.providers import ToolChoice
from bot.providers.anthropic.capabilities import capabilities_of
from bot.providers.anthropic.request import declarations as to_anthropic
from bot.providers.gemini.request import declarations as to_gemini
from bot.providers.json_mode.request import schema_of
from bot.providers.ollama.request import declarations as to_ollama
from bot.providers.openai.request import COMPATIBLE, OPENAIS, response_format
from bot.providers.openai.request import declarations as to_openai
from tests.bot.providers.conformance.shown import assert_documented
from toolset.tool import ToolDefinition

JSON = dict[str, Any]

PLACE: JSON = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}

# A property for each keyword.
PROBES: dict[str, JSON] = {
    "enum": {"type": "string", "enum": ["x"]},
    "anyOf": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "const": {"const": "x"},
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "null"}]},
    "allOf": {"allOf": [PLACE]},
    "$ref": {"$ref": "#/$defs/place"},
    "format": {"type": "string", "format": "date-time"},
    "pattern": {"type": "string", "pattern": "^x"},
    "minimum": {"type": "integer", "minimum": 1},
    "maximum": {"type": "integer", "maximum": 9},
    "multipleOf": {"type": "integer", "multipleOf": 2},
    "minItems": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "maxItems": {"type": "array", "items": {"type": "string"}, "maxItems": 9},
    "minLength": {"type": "string", "minLength": 1},
    "maxLength": {"type": "string", "maxLength": 9},
    "uniqueItems": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "default": {"type": "string", "default": "x"},
    "examples": {"type": "string", "examples": ["x"]},
    "prefixItems": {
        "type": "array",
        "prefixItems": [{"type": "string"}],
        "items": {"type": "string"},
    },
    "not": {"type": "string", "not": {"enum": ["x"]}},
    "if": {**PLACE, "if": {"required": ["y"]}, "then": PLACE},
    "patternProperties": {**PLACE, "patternProperties": {"^y": {"type": "string"}}},
    "minProperties": {**PLACE, "minProperties": 1},
    "dependentRequired": {**PLACE, "dependentRequired": {"y": ["x"]}},
}
INSTEAD = {
    "const": ("enum", "as `enum`"),
    "oneOf": ("anyOf", "as `anyOf`"),
    "allOf": ("properties", "as one object"),
    "$ref": ("properties", "written out"),
}


def _openai(tool: ToolDefinition) -> Any:
    return to_openai([tool], OPENAIS)[0]["function"]["parameters"]


def _compatible(tool: ToolDefinition) -> Any:
    return to_openai([tool], COMPATIBLE)[0]["function"]["parameters"]


def _anthropic(tool: ToolDefinition) -> Any:
    return to_anthropic([tool], capabilities_of("claude-sonnet-5", "low"))[0]["input_schema"]


def _json(tool: ToolDefinition) -> Any:
    answer = response_format(schema_of([tool], ToolChoice("required")), OPENAIS)["json_schema"][
        "schema"
    ]
    return answer["properties"]["tool_call"]["properties"]["arguments"]


def _ollama(tool: ToolDefinition) -> Any:
    return to_ollama([tool])[0]["function"]["parameters"]


def _gemini(tool: ToolDefinition) -> Any:
    return to_gemini([tool])[0]["functionDeclarations"][0]["parametersJsonSchema"]


Declaring = Callable[[ToolDefinition], Any]
VENDORS: dict[str, tuple[Declaring, bool]] = {
    "`gemini:`, `vertex:`": (_gemini, False),
    "`openai:`": (_openai, False),
    "`openai:` strict, `json:`": (_openai, True),
    "`openai:` with `OPENAI_BASE_URL`": (_compatible, False),
    "`anthropic:`": (_anthropic, False),
    "`anthropic:` strict": (_anthropic, True),
    "`ollama:`": (_ollama, False),
}


def stored(keyword: str, declaring: Declaring, *, strict: bool) -> str:
    """What becomes of a keyword."""
    schema = {
        "type": "object",
        "properties": {"a": PROBES[keyword]},
        "required": ["a"],
        "$defs": {"place": PLACE},
    }
    spoken = declaring(ToolDefinition("f", "Does it.", schema, {}, strict=strict))["properties"][
        "a"
    ]
    word, instead = INSTEAD.get(keyword, (keyword, "✓"))
    return "✓" if keyword in spoken else instead if word in spoken else "–"


def test_the_documented_table_is_what_is_lost(request: pytest.FixtureRequest) -> None:
    """A row for the keywords that fare alike, a column for each form a vendor is told them in."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for keyword in PROBES:
        fates = tuple(
            stored(keyword, declaring, strict=strict) for declaring, strict in VENDORS.values()
        )
        rows.setdefault(fates, []).append(f"`{keyword}`")
    head = (f"| | {' | '.join(VENDORS)} |", f"|---|{':-:|' * len(VENDORS)}")
    body = (f"| {', '.join(keywords)} | {' | '.join(fates)} |" for fates, keywords in rows.items())
    assert_documented(request, "\n".join([*head, *body]) + "\n")


@pytest.mark.parametrize("keyword", PROBES)
def test_json_mode_loses_what_the_strict_form_loses(keyword: str) -> None:
    """Its answers are written by that form; references of a schema inside another one still lead
    somewhere."""
    assert stored(keyword, _json, strict=False) == stored(keyword, _openai, strict=True)
