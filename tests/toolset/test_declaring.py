"""What a tool declares is checked before anybody can call it, and tools are called by their
names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.toolset.contexts import context
from tests.toolset.doer import PARAMETERS, RESPONSE, Acts, Doer, doer
from toolset.create_image import CreateImage
from toolset.currency import ConvertCurrency
from toolset.earthquakes import GetEarthquakes
from toolset.mcp.catalog import RemoteTool
from toolset.news import GetNews
from toolset.openapi.tool import OperationTool
from toolset.read_web_page import ReadWebPage
from toolset.tool import FOREIGN_PER_TURN, ToolOutcome, ToolSetupError, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather import GetWeather
from toolset.weather_warnings import GetWarnings
from toolset.web_search import WebSearch
from toolset.wikipedia import Wikipedia

FOREIGN = (
    ConvertCurrency,
    CreateImage,
    GetEarthquakes,
    GetNews,
    GetWeather,
    GetWarnings,
    ReadWebPage,
    WebSearch,
    Wikipedia,
    RemoteTool,
    OperationTool,
)


def test_the_definition_is_what_the_tool_declares() -> None:
    """Name, description, parameters and risk go to the model unchanged; of a response it reads
    results alone."""
    definition = doer().definition
    assert (definition.name, definition.description, definition.risk) == (
        "doer",
        Doer.description,
        "low",
    )
    assert (definition.parameters, definition.response) == (PARAMETERS, {})


def test_what_reads_may_be_called_twice_and_what_acts_may_not() -> None:
    """Unless the tool says otherwise."""
    made = [doer(), doer(risk="high"), doer(idempotent=False), doer(risk="high", idempotent=True)]
    assert [tool.definition.idempotent for tool in made] == [True, False, False, True]


def test_a_tool_may_ask_for_strict_arguments() -> None:
    """None does unasked."""
    assert [tool.definition.strict for tool in (doer(), doer(strict=True))] == [False, True]


def test_only_a_tool_that_asks_a_foreign_server_has_a_limit_in_a_turn_unasked() -> None:
    """A tool may declare another one, or none."""
    made = [
        doer(),
        doer(foreign=True),
        doer(foreign=True, per_turn=2),
        doer(foreign=True, per_turn=0),
    ]
    assert [tool.per_turn for tool in made] == [0, FOREIGN_PER_TURN, 2, 0]


@pytest.mark.parametrize("tool", FOREIGN)
def test_what_asks_a_foreign_server_says_so(tool: type) -> None:
    """Also the tools of MCP servers and APIs."""
    assert getattr(tool, "foreign", False)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"name": "two words"}, "tool name 'two words' must match"),
        ({"name": ""}, "tool name '' must match"),
        ({"name": "x" * 65}, "must match"),
        ({"description": " "}, "tool doer: the description is empty"),
        ({"risk": "none"}, "tool doer: risk must be one of low, high"),
        ({"timeout_s": 0}, "tool doer: timeout_s and concurrency must be numbers above 0"),
        ({"timeout_s": "3"}, "tool doer: timeout_s and concurrency must be numbers above 0"),
        ({"concurrency": 0}, "tool doer: timeout_s and concurrency must be numbers above 0"),
        ({"concurrency": 1.5}, "tool doer: timeout_s and concurrency must be numbers above 0"),
        ({"per_turn": -1}, "tool doer: per_turn and per_day must be whole numbers from 0"),
        ({"per_day": 1.5}, "tool doer: per_turn and per_day must be whole numbers from 0"),
        ({"commands": "do"}, "tool doer: commands must be a tuple of words without the slash"),
        ({"commands": ("/do",)}, "tool doer: commands must be a tuple of words without the slash"),
        (
            {"commands": ("do it",)},
            "tool doer: commands must be a tuple of words without the slash",
        ),
    ],
)
def test_a_badly_declared_tool_stops_start_up(declared: dict[str, Any], complaint: str) -> None:
    """A wrong risk would slip past approval, a wrong name past the vendors."""
    tool = type("Bad", (Doer,), declared)()
    with pytest.raises(ToolSetupError, match=complaint):
        ValidatedTool(tool, PARAMETERS, RESPONSE)


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"type": "objekt"}, "schema is invalid"),
        ({"type": "string"}, "schema must have type object"),
        ({}, "schema must have type object"),
        (True, "schema must have type object"),
    ],
)
@pytest.mark.parametrize("kind", ["parameters", "response"])
def test_a_bad_schema_stops_start_up(kind: str, schema: Any, complaint: str) -> None:
    """Both schemas are checked before anybody can call."""
    with pytest.raises(ToolSetupError, match=f"tool doer: the {kind} {complaint}"):
        doer(**{kind: schema})


def tools() -> ToolMap:
    """One of each risk."""
    return ToolMap([doer(), ValidatedTool(Acts(), PARAMETERS, RESPONSE)])


async def test_the_map_calls_by_name() -> None:
    """It is a mapping in the order given."""
    assert list(tools()) == ["doer", "acts"]
    assert len(tools()) == 2
    assert tools()["acts"].definition.risk == "high"
    assert [definition.name for definition in tools().definitions] == ["doer", "acts"]
    assert await tools().call("doer", {"do": "it"}, context()) == ToolOutcome({"done": "yes"})


async def test_an_unknown_tool_is_an_outcome_that_names_the_known_ones() -> None:
    """Models invent names; a huge one is cut."""
    assert await tools().call("wether", {}, context()) == ToolOutcome.error(
        "unknown tool: wether. Available tools: doer, acts"
    )
    assert len((await tools().call("x" * 9999, {}, context())).response["error"]) < 150


def test_two_tools_of_one_name_stop_start_up() -> None:
    """Neither silently wins."""
    with pytest.raises(ToolSetupError, match="two tools are named doer"):
        ToolMap([doer(), doer()])


def test_commands_lead_to_their_tools() -> None:
    """In whatever case they are declared; two tools cannot share one."""
    acts = ValidatedTool(type("Acts", (Acts,), {"commands": ("実行",)})(), PARAMETERS, RESPONSE)
    assert ToolMap([doer(commands=("Do", "make")), acts]).commands == {
        "do": "doer",
        "make": "doer",
        "実行": "acts",
    }
    with pytest.raises(ToolSetupError, match="the tools doer and acts have the same command: 実行"):
        ToolMap([doer(commands=("実行",)), acts])


def test_low_risk_leaves_out_what_acts() -> None:
    """READ_ONLY offers these alone."""
    assert list(tools().low_risk()) == ["doer"]
    assert list(ToolMap([doer(writes=True)]).low_risk()) == []


def test_a_sources_tools_are_replaced() -> None:
    """They stand behind Kaiwa's own, in the order of the sources; what was there before is gone."""
    offered = ToolMap([doer()])
    offered.replace("first", ())
    offered.replace("second", [doer(name="b")])
    offered.replace("first", [doer(name="a", commands=("do",))])
    assert (list(offered), offered.commands) == (["doer", "a", "b"], {})
    offered.replace("second", [doer(name="c")])
    assert [definition.name for definition in offered.definitions] == ["doer", "a", "c"]
    offered.replace("first", ())
    assert list(offered) == ["doer", "c"]


def test_the_first_tool_of_a_name_is_offered() -> None:
    """Kaiwa's own before any other; the one that waits is offered when the name is free."""
    own = doer()
    offered = ToolMap([own])
    offered.replace("first", ())
    offered.replace("second", [doer(), doer(name="a")])
    assert offered["doer"] is own
    assert (offered.dropped("first"), offered.dropped("second")) == ([], ["doer"])
    offered.replace("first", [doer(name="a")])
    assert offered.dropped("second") == ["doer", "a"]
    offered.replace("first", ())
    assert offered.dropped("second") == ["doer"]
    assert offered.dropped("nobody") == []


def test_read_only_holds_for_later_tools() -> None:
    """A source that comes later cannot offer what acts."""
    offered = tools().low_risk()
    offered.replace("later", [ValidatedTool(Acts(), PARAMETERS, RESPONSE), doer(name="reads")])
    assert list(offered) == ["doer", "reads"]


def test_missing_schemas_stop_start_up() -> None:
    """The text names the file to write."""
    with pytest.raises(
        ToolSetupError, match=r"tool nobody: schemas/nobody/parameters\.json cannot be read"
    ):
        read_schemas("nobody")


def test_a_schema_that_is_no_json_stops_start_up(tmp_path: Path) -> None:
    """An operator's folder has schemas of its own."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "parameters.json").write_text('{"type": "object",}', "utf-8")
    with pytest.raises(
        ToolSetupError, match=rf"tool mine: {tmp_path}/mine/parameters\.json cannot be read"
    ):
        read_schemas("mine", tmp_path)


@pytest.mark.parametrize(("reason", "declared"), [("", {}), ("the model fills it in", RESPONSE)])
async def test_the_response_schema_is_declared_where_there_is_a_reason(
    reason: str, declared: dict[str, Any]
) -> None:
    """It is validated in any case."""
    kind: Any = type("Reasoned", (Doer,), {"declares_response": reason})
    tool = ValidatedTool(kind(), PARAMETERS, RESPONSE)
    assert (tool.definition.response, tool.response_schema) == (declared, RESPONSE)
    outcome = await tool.call({"do": "lie"}, context())
    assert outcome.response["error"].startswith("invalid response")
