"""What holds for every tool in the folder, whichever it is: what it declares, and what comes of a
call."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, SecretStr

import schemas
import toolset
from bot.providers import ToolChoice
from bot.providers.gemini import request as gemini
from tests.fakes import gemini_rules
from tests.toolset.arguments import sample
from tests.toolset.contexts import context
from tests.toolset.workspaces import why_no_sandbox
from toolset.decorator import is_function, schemas_of
from toolset.sources import own_tools
from toolset.tool import Tool, ToolOutcome, ValidatedTool
from toolset.tool_map import FIND_TOOLS, ToolMap
from toolset.workspace import RunCommand

ACTING = [
    "add",
    "book",
    "buy",
    "call",
    "cancel",
    "change",
    "create",
    "delete",
    "edit",
    "execute",
    "insert",
    "invite",
    "make",
    "move",
    "order",
    "pay",
    "post",
    "publish",
    "put",
    "remove",
    "rename",
    "reply",
    "reserve",
    "run",
    "save",
    "send",
    "set",
    "start",
    "stop",
    "submit",
    "turn",
    "update",
    "upload",
    "write",
]
# made up, as an error text
SECRET = "10.1.2.3 failed in /secret/path with key sk-secret, see https://inside.example"
SECRETS = (
    "10.1.2.3",
    "/secret/path",
    "sk-secret",
    "inside.example",
    "Traceback",
    "http://",
    "https://",
    "/tool",
)

every_tool = pytest.mark.parametrize("tool", toolset.find(), ids=lambda tool: tool.name)


class Outside(httpx.AsyncBaseTransport):
    """Whatever a tool asks: it answers in one way, and remembers how it was asked."""

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self.answer: Exception | tuple[int, str] | None = httpx.ConnectError(SECRET)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.methods.add(request.method)
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        status, body = self.answer
        return httpx.Response(
            status,
            headers={"location": "https://inside.example"},
            stream=httpx.ByteStream(body.encode()),
        )


@pytest.fixture
def outside() -> Outside:
    """What is beyond this machine; nothing answers."""
    return Outside()


@pytest.fixture
async def tools(
    request: pytest.FixtureRequest, outside: Outside, tmp_path: Path
) -> AsyncIterator[ToolMap]:
    """The test's own tool or all, also those that are off by default, with default settings and
    without a network."""
    own_tool = getattr(request.node, "callspec", None) and request.node.callspec.params["tool"]
    if own_tool is RunCommand and (why := why_no_sandbox()):
        pytest.skip(why)
    keys = {"brave_api_key": SecretStr("sk-secret"), "gemini_api_key": SecretStr("sk-secret")}
    switches = {"workspace_dir": str(tmp_path), "image_model": "gemini-3.1-flash-image", **keys}

    def configure(config: type[BaseModel]) -> BaseModel:
        return config(
            **{name: value for name, value in switches.items() if name in config.model_fields}
        )

    async with httpx.AsyncClient(transport=outside) as http:
        yield toolset.build(
            (one for one in own_tools() if own_tool in (None, one.tool)), http, configure
        )


@every_tool
def test_what_it_declares(tool: type[Tool]) -> None:
    """Schemas of draft 2020-12 that let no property slip through in either direction; arguments
    that are explained and bounded; a description by which the model chooses. Nobody is asked about
    a low-risk call, so none comes by chance: a name that acts is one of a high risk, or of what
    changes only what Kaiwa stores."""
    for schema in schemas_of(tool):
        Draft202012Validator.check_schema(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    limits = {"string": "maxLength", "array": "maxItems"}
    for rule in schemas_of(tool)[0]["properties"].values():
        assert rule.get("description")
        assert "enum" in rule or limits.get(rule["type"], "type") in rule
    assert "Use it " in tool.description
    assert 40 < len(tool.description) < 700
    assert "risk" in vars(tool)
    writes = tool.risk == "high" or getattr(tool, "writes", False)
    assert writes or tool.name.partition("_")[0] not in ACTING


def test_every_folder_of_schemas_belongs_to_a_tool() -> None:
    """And each class has its own, under its tool's name."""
    (folder,) = map(Path, schemas.__path__)
    classes = [tool.name for tool in toolset.find() if not is_function(tool)]
    names = [FIND_TOOLS, *classes]
    assert sorted(path.parent.name for path in folder.glob("*/*.json")) == sorted([*names, *names])


def test_gemini_takes_all_of_them(tools: ToolMap) -> None:
    """The stand-in refuses what the service refuses."""
    not_offered = [RunCommand.name] if why_no_sandbox() else []
    named = [*(one.name for one in tools.definitions), *not_offered]
    assert sorted(named) == [tool.name for tool in toolset.find()]
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "tools": gemini.declarations(tools.definitions),
        "toolConfig": gemini.tool_config(
            ToolChoice("one", tools.definitions[0].name), combines=False
        ),
    }
    gemini_rules.check("gemini-3-flash", json.dumps(body).encode(), [])


ANSWERS: list[Exception | tuple[int, str]] = [
    httpx.ConnectError(SECRET),
    httpx.ReadTimeout(SECRET),
    RuntimeError(SECRET),
    (500, SECRET),
    (302, SECRET),
    (200, f"<html>{SECRET}</html>"),
    (200, json.dumps({"data": {"error": SECRET}})),
]


@every_tool
async def test_whatever_happens_inside_nothing_leaks(
    tool: type[Tool], tools: ToolMap, outside: Outside, tmp_path: Path
) -> None:
    """A network that fails in any way: a result, or a plain error. A low-risk call gets, and never
    posts, puts or deletes."""
    for answer in ANSWERS:
        outside.answer = answer
        outcome = await tools.call(tool.name, sample(schemas_of(tool)[0]), context())
        text = json.dumps(outcome.response)
        assert [secret for secret in (*SECRETS, str(tmp_path)) if secret in text] == []
        assert outcome.is_error == ("error" in outcome.response)
        if not isinstance(answer, RuntimeError):
            assert "failed unexpectedly" not in text
    assert tool.risk == "high" or outside.methods <= {"GET", "HEAD"}


@every_tool
async def test_it_keeps_to_its_deadline(tool: type[Tool], tools: ToolMap, outside: Outside) -> None:
    """Also where nothing answers."""
    outside.answer = None
    started = time.monotonic()
    outcome = await tools.call(tool.name, sample(schemas_of(tool)[0]), context(seconds=0.2))
    assert time.monotonic() - started < 1
    assert outcome.is_error == ("error" in outcome.response)


class Liar:
    """Stands in a tool's place, and answers what the tool never promised."""

    def __init__(self, tool: type[Tool]) -> None:
        self.name, self.description, self.risk = tool.name, tool.description, tool.risk

    async def call(self, arguments: dict[str, Any], context: object) -> dict[str, Any]:
        return {"promised": False}


@every_tool
async def test_what_it_did_not_promise_is_no_response(tool: type[Tool]) -> None:
    """The model never works with data that does not fit."""
    parameters, response = schemas_of(tool)
    liar: Any = Liar(tool)
    outcome = await ValidatedTool(liar, parameters, response).call(sample(parameters), context())
    assert outcome.response["error"].startswith("invalid response: ")


@every_tool
async def test_no_arguments_are_refused_exactly_where_some_are_required(
    tool: type[Tool], tools: ToolMap
) -> None:
    """Null and an empty string count as none."""
    required = schemas_of(tool)[0].get("required", [])
    none_given: list[object] = [None, "", {}]
    for nothing in none_given:
        outcome = await tools.call(tool.name, nothing, context())
        if required:
            complaint = f"invalid parameters: {required[0]!r} is a required property"
            assert outcome == ToolOutcome.error(complaint)
        else:
            assert "invalid parameters" not in outcome.response.get("error", "")
