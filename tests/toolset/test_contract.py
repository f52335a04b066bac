"""What holds for every tool in the folder, whichever it is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

import schemas
import toolset
from tests.toolset.contexts import context
from toolset.tool import Tool, ToolMap, read_schemas

SECRETS = ("10.1.2.3", "/secret/path", "Traceback", "http://", "https://", "site-packages")


class NoNetwork(httpx.AsyncBaseTransport):
    """Fails every request with a text nobody may see."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connect to 10.1.2.3 failed in /secret/path", request=request)


@pytest.fixture
async def tools() -> AsyncIterator[ToolMap]:
    """All tools, with default settings and without a network."""
    async with httpx.AsyncClient(transport=NoNetwork()) as http:
        yield toolset.build(toolset.find(), http, lambda config: config())


every_tool = pytest.mark.parametrize("tool", toolset.find(), ids=lambda tool: tool.name)


def sample(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that fit: every property, by its type."""
    by_type: dict[str, Any] = {
        "string": "Tokyo",
        "integer": 1,
        "number": 1.5,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return {
        name: rule["enum"][0] if "enum" in rule else by_type[rule["type"]]
        for name, rule in schema["properties"].items()
    }


@every_tool
def test_its_schemas_are_valid_and_closed(tool: type[Tool]) -> None:
    """Draft 2020-12; no property slips through in either direction, and each argument is explained."""
    for schema in read_schemas(tool.name):
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    parameters, _ = read_schemas(tool.name)
    assert [name for name, rule in parameters["properties"].items() if not rule.get("description")] == []


@every_tool
def test_its_description_says_when_to_use_it(tool: type[Tool]) -> None:
    """The model chooses by it."""
    assert "Use it " in tool.description
    assert 40 < len(tool.description) < 700


def test_every_folder_of_schemas_belongs_to_a_tool() -> None:
    """And each tool has its own, under its own name."""
    (folder,) = map(Path, schemas.__path__)
    assert sorted(path.parent.name for path in folder.glob("*/*.json")) == sorted(
        tool.name for tool in toolset.find() for _ in ("parameters", "response")
    )


@every_tool
async def test_whatever_happens_inside_nothing_leaks(tool: type[Tool], tools: ToolMap) -> None:
    """A failing network, a place that is no expression: a result, or a plain error."""
    outcome = await tools.call(tool.name, sample(read_schemas(tool.name)[0]), context())
    text = json.dumps(outcome.response)
    assert [secret for secret in SECRETS if secret in text] == []
    assert outcome.is_error == ("error" in outcome.response)
    assert "failed unexpectedly" not in text


@every_tool
async def test_wrong_types_are_refused(tool: type[Tool], tools: ToolMap) -> None:
    """Each argument by name."""
    parameters, _ = read_schemas(tool.name)
    for name in parameters["properties"]:
        for wrong in (None, ["x"], {"x": 1}):
            outcome = await tools.call(tool.name, sample(parameters) | {name: wrong}, context())
            assert outcome.response["error"].startswith(f"invalid parameters: {name}: {wrong!r} is not of type ")


@every_tool
async def test_an_extra_argument_is_refused(tool: type[Tool], tools: ToolMap) -> None:
    """Models invent options."""
    outcome = await tools.call(tool.name, sample(read_schemas(tool.name)[0]) | {"api_key": "x"}, context())
    assert outcome.response == {
        "error": "invalid parameters: Additional properties are not allowed ('api_key' was unexpected)"
    }


@every_tool
async def test_huge_texts_are_refused_in_few_words(tool: type[Tool], tools: ToolMap) -> None:
    """Every string has a limit, and the complaint does not quote it all."""
    parameters, _ = read_schemas(tool.name)
    texts = [name for name, rule in parameters["properties"].items() if rule["type"] == "string" and "enum" not in rule]
    for name in texts:
        outcome = await tools.call(tool.name, sample(parameters) | {name: "9" * 1_000_000}, context())
        assert outcome.response["error"].startswith(f"invalid parameters: {name}: ")
        assert outcome.response["error"].endswith("is too long")
        assert len(outcome.response["error"]) < 500


@every_tool
@pytest.mark.parametrize("nothing", [None, "", {}], ids=["null", "empty", "object"])
async def test_no_arguments_are_refused_exactly_where_some_are_required(
    tool: type[Tool], nothing: object, tools: ToolMap
) -> None:
    """Null and an empty string count as none."""
    required = read_schemas(tool.name)[0].get("required", [])
    outcome = await tools.call(tool.name, nothing, context())
    complaint = f"invalid parameters: {required[0]!r} is a required property" if required else None
    assert outcome.response.get("error") == complaint


@every_tool
@pytest.mark.parametrize("arguments", [[], "x", 7, True], ids=str)
async def test_what_is_no_object_is_refused(tool: type[Tool], arguments: object, tools: ToolMap) -> None:
    """Whatever the model sends."""
    outcome = await tools.call(tool.name, arguments, context())
    assert outcome.response == {"error": f"invalid parameters: {arguments!r} is not of type 'object'"}
