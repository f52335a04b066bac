"""Tools of an API: what is sent for a call, how it signs in, and what comes back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from bot.cli.add_api import write_api
from tests.fakes.pets import KEY, PASSWORD, TOKEN, USER, PetsFake
from tests.fakes.sources import FAILURES, SourceAnswer
from tests.toolset.contexts import context
from toolset.openapi.tool import load_api_tools
from toolset.tool import ToolOutcome, ToolSetupError
from toolset.tool_map import ToolMap

ALL = ["listPets", "addPet", "getPet", "deletePet", "GET /old/{petId}", "elsewhere", "loop", "echo"]
SECRETS = {
    "pets_demo_token": TOKEN,
    "pets_demo_username": USER,
    "pets_demo_password": PASSWORD,
    "pets_demo_api_key": KEY,
    "pets_demo_key_api_key": KEY,
    "pets_demo_query_api_key": KEY,
}


@pytest.fixture
def pets() -> Iterator[PetsFake]:
    with PetsFake().served() as fake:
        yield fake


@asynccontextmanager
async def opened(folder: Path, **secrets: str) -> AsyncIterator[ToolMap]:
    """The tools in a folder, with these variables or all."""

    def configure(config: type[BaseModel]) -> BaseModel:
        return config(
            **{
                name: value
                for name, value in (secrets or SECRETS).items()
                if name in config.model_fields
            }
        )

    async with httpx.AsyncClient() as http:
        yield ToolMap(load_api_tools(folder, http, configure))


@pytest.fixture
async def tools(pets: PetsFake, tmp_path: Path) -> AsyncIterator[ToolMap]:
    """The tools of the stand-in."""
    write_api(f"{pets.base_url}/openapi.json", ALL, name="", server="", folder=tmp_path)
    async with opened(tmp_path) as tools:
        yield tools


async def call(tools: ToolMap, name: str, **arguments: Any) -> ToolOutcome:
    return await tools.call(f"pets_demo_{name}", arguments, context())


async def test_reading_is_low_risk_and_all_else_high(tools: ToolMap) -> None:
    """None of them is Kaiwa's own, and a call that acts is not repeated."""
    definitions = [(one.name, one.risk, one.idempotent, one.own) for one in tools.definitions]
    assert definitions == [
        ("pets_demo_listPets", "low", True, False),
        ("pets_demo_addPet", "high", False, False),
        ("pets_demo_getPet", "low", True, False),
        ("pets_demo_deletePet", "high", False, False),
        ("pets_demo_GET_old_petId", "low", True, False),
        ("pets_demo_elsewhere", "low", True, False),
        ("pets_demo_loop", "low", True, False),
        ("pets_demo_echo", "low", True, False),
    ]
    assert {tool.origin.rpartition("/")[2] for tool in tools.values()} == {"pets_demo.json"}


async def test_every_argument_is_bounded_and_described(tools: ToolMap) -> None:
    """What cannot be said without end is left out: a pet's parents' parents, a cookie, the host."""
    assert tools["pets_demo_listPets"].definition.parameters["properties"].keys() == {
        *("limit", "tags", "ids", "filter", "X-Trace")
    }
    pet = tools["pets_demo_addPet"].definition.parameters
    assert pet == {
        "type": "object",
        "properties": {
            "body": {
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "maxLength": 40,
                        "description": "What it is called.",
                    },
                    "tag": {"type": ["string", "null"], "maxLength": 2000},
                    "kind": {"enum": ["cat", "dog"], "type": "string"},
                    "parents": {
                        "type": "array",
                        "items": {
                            "type": ["string", "number", "boolean", "null"],
                            "maxLength": 2000,
                        },
                        "maxItems": 0,
                    },
                    "age": {"type": "integer", "exclusiveMinimum": 0},
                },
                "required": ["name"],
                "additionalProperties": False,
                "description": "body, in the body",
            }
        },
        "required": ["body"],
        "additionalProperties": False,
    }


async def test_arguments_go_where_they_belong(tools: ToolMap, pets: PetsFake) -> None:
    """Lists and objects in the style that the document names."""
    listed = await call(
        tools,
        "listPets",
        **{
            "limit": 3,
            "tags": ["a&b=c", "犬"],
            "ids": [1, 2],
            "filter": {"kind": "cat"},
            "X-Trace": "t-1",
        },
    )
    query = {"limit": ["3"], "tags": ["a&b=c", "犬"], "ids": ["1,2"], "filter[kind]": ["cat"]}
    assert listed == ToolOutcome({"status": 200, "body": {"query": query, "trace": "t-1"}})
    added = await call(tools, "addPet", body={"name": "Tama", "tag": None})
    assert added.response == {"status": 201, "body": {"id": 7, "name": "Tama", "tag": None}}
    assert (await call(tools, "deletePet", petId="7")).response == {"status": 204, "body": ""}


@pytest.mark.parametrize(
    ("pet", "target"),
    [
        ("7", "7"),
        ("a b", "a%20b"),
        ("猫", "%E7%8C%AB"),
        ("group/name", "group%2Fname"),
        ("7?key=1#x", "7%3Fkey%3D1%23x"),
        ("%2e%2e", "%252e%252e"),
        ("..x", "..x"),
        ("\ud800", "%3F"),
    ],
)
async def test_a_value_stays_in_its_part_of_the_path(
    pet: str, target: str, tools: ToolMap, pets: PetsFake
) -> None:
    """Whatever a model writes."""
    await call(tools, "getPet", petId=pet)
    assert pets.requests == [f"GET /v1/pets/{target}"]


@pytest.mark.parametrize("pet", ["", ".", "..", "../pets", "a/../b", "a\\..\\b", "./x"])
async def test_a_value_that_leads_elsewhere_is_refused(
    pet: str, tools: ToolMap, pets: PetsFake
) -> None:
    """Some servers would follow it, quoted or not."""
    outcome = await call(tools, "getPet", petId=pet)
    assert outcome == ToolOutcome.error("invalid parameters: petId: cannot be part of a path")
    assert pets.requests == []


@pytest.mark.parametrize("trace", ["a\r\nHost: evil", "é", "\x00"])
async def test_a_header_takes_plain_text_only(trace: str, tools: ToolMap, pets: PetsFake) -> None:
    """Not a second header."""
    outcome = await call(tools, "listPets", **{"X-Trace": trace})
    assert outcome.response["error"].startswith("invalid parameters: X-Trace: ")
    assert pets.requests == []


async def test_what_does_not_fit_is_not_sent(tools: ToolMap, pets: PetsFake) -> None:
    """The schema is the document's."""
    for arguments in (
        {"limit": 101},
        {"page": 1},
        {"tags": ["x" * 2001]},
        {"filter": {"other": "x"}},
    ):
        assert (
            (await call(tools, "listPets", **arguments))
            .response["error"]
            .startswith("invalid parameters: ")
        )
    assert pets.requests == []


async def test_no_call_brings_cookies_into_the_next(tools: ToolMap) -> None:
    """All people share one client."""
    for _ in range(2):
        assert (await call(tools, "getPet", petId="7")).response == {
            "status": 200,
            "body": {"id": "7"},
        }


async def test_a_redirect_on_the_server_is_followed_and_no_other(
    tools: ToolMap, pets: PetsFake
) -> None:
    """A credential is for one server; a circle ends."""
    assert (await call(tools, "GET_old_petId", petId="7")).response == {
        "status": 200,
        "body": {"moved": "7"},
    }
    assert (await call(tools, "elsewhere")).response == {"status": 302, "body": ""}
    assert (await call(tools, "loop")).response == {"status": 302, "body": ""}
    assert len(pets.requests) == 6


async def test_a_secret_that_comes_back_is_not_shown(tools: ToolMap) -> None:
    """A server may repeat what it was sent."""
    assert (await call(tools, "echo")).response["body"] == {"you_sent": "/v1/echo?key=[secret]"}


@pytest.mark.parametrize("failure", [*FAILURES, "status 401"])
async def test_every_failure_is_a_result(failure: str, tools: ToolMap, pets: PetsFake) -> None:
    """A status with its body, or one sentence; nothing of the server's address."""
    pets.fail(failure)
    outcome = await tools.call("pets_demo_elsewhere", {}, context(seconds=0.5))
    reported = json.dumps(outcome.response)
    assert "127.0.0.1" not in reported
    assert "failed unexpectedly" not in reported
    if outcome.is_error:
        error = outcome.response["error"]
        # On a busy machine a little of the half second has passed before.
        assert error.startswith("timed out after 0.") or error in (
            "API request failed: no answer",
            "API request failed: answer too large; ask for less",
        )
    else:
        assert outcome.response["status"] in (200, 302, 401, 429, 500)


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (b'{"a": 1}', "application/vnd.pets+json; charset=utf-8", {"a": 1}),
        (b"[" * 5000, "application/json", "[" * 5000),
        (b'"\\ud800"', "application/json", "\ufffd"),
        (b'{"a": NaN}', "application/json", '{"a": NaN}'),
        (b"a\x00\x1b[31mb\xff\n", "text/plain", "a[31mb\n"),
        (b"\x89PNG\x00", "image/png", "[5 bytes, no text]"),
        (
            "あ".encode() * 10_000,
            "text/plain",
            f"{'あ' * 8192}[truncated: 5424 bytes dropped, refine your query]",
        ),
        (b'["' + b"x" * 30_000 + b'"]', "application/json", None),
    ],
)
async def test_the_body_is_data_of_limited_size(
    body: bytes, content_type: str, shown: Any, tools: ToolMap, pets: PetsFake
) -> None:
    """JSON where it is JSON and short, else the beginning of the text."""
    pets.replay(SourceAnswer(200, body, content_type))
    response = (await call(tools, "elsewhere")).response
    assert response["status"] == 200
    if shown is None:
        assert response["body"].endswith("x[truncated: 5428 bytes dropped, refine your query]")
    else:
        assert response["body"] == shown


@pytest.mark.parametrize(
    "missing", sorted(SECRETS.keys() - {"pets_demo_key_api_key", "pets_demo_api_key"})
)
async def test_a_missing_variable_stops_the_start(
    missing: str, pets: PetsFake, tmp_path: Path
) -> None:
    """By name; so does one with a character that no header takes."""
    write_api(f"{pets.base_url}/openapi.json", ALL, name="", server="", folder=tmp_path)
    with pytest.raises(ToolSetupError, match=f"set {missing.upper()}, which http"):
        async with opened(tmp_path, **(SECRETS | {missing: ""})):
            pass
    with pytest.raises(ToolSetupError, match=f"{missing.upper()} has a character") as raised:
        async with opened(tmp_path, **(SECRETS | {missing: "secret\ntext"})):
            pass
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"server": "ftp://x"}, "write the server as"),
        ({"server": "https://user@x"}, "write the server as"),
        ({"server": "https://x:99999"}, "Port out of range"),
        ({"extra": 1}, "unknown field"),
        ({"name": 1}, "Expected `str`"),
        ({"credentials": {}}, "there is no credential bearer"),
        ({"operations": [{"path": "pets"}]}, "the path must begin with /"),
        ({"operations": [{"path": "/pets/../x"}]}, "contain exactly its parameters"),
        ({"operations": [{"path": "/pets/{id}"}]}, "contain exactly its parameters"),
        ({"operations": [{"method": "TRACE"}]}, "Invalid enum value 'TRACE'"),
        ({"operations": [{"tool": "a tool"}]}, "must match"),
        (
            {
                "operations": [
                    {
                        "parameters": [
                            {"argument": "h", "name": "Host", "in": "header", "form": "comma"}
                        ]
                    }
                ]
            },
            "the header Host cannot be an argument",
        ),
    ],
)
async def test_a_changed_file_stops_the_start(
    change: dict[str, Any], reason: str, pets: PetsFake, tmp_path: Path
) -> None:
    """In one line that names it."""
    path, _ = write_api(
        f"{pets.base_url}/openapi.json", ["listPets"], name="", server="", folder=tmp_path
    )
    written = json.loads(path.read_bytes())
    if "operations" in change:
        change = {
            "operations": [
                {**written["operations"][0], "parameters": [], **change["operations"][0]}
            ]
        }
    path.write_text(json.dumps({**written, **change}), "utf-8")
    with pytest.raises(ToolSetupError) as raised:
        async with opened(tmp_path):
            pass
    assert reason in str(raised.value)
    assert str(raised.value).startswith(str(path))


async def test_a_folder_without_apis_has_none(tmp_path: Path) -> None:
    """Most folders."""
    async with opened(tmp_path) as tools:
        assert list(tools) == []
