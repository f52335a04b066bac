"""The contract: every call is validated on both sides and ends in one outcome."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any, ClassVar

import httpx
import pytest
from pydantic import BaseModel

from tests.toolset.contexts import context
from toolset.tool import (
    OUTPUT_CAP,
    Risk,
    ToolError,
    ToolMap,
    ToolOutcome,
    ToolSetupError,
    ValidatedTool,
    read_schemas,
)

PARAMETERS = {
    "type": "object",
    "properties": {"do": {"type": "string", "maxLength": 20}, "with": {}},
    "required": ["do"],
    "additionalProperties": False,
}
RESPONSE = {"type": "object", "properties": {"done": {}}, "required": ["done"], "additionalProperties": False}
ANYTHING = {"type": "object"}


class Doer:
    """Does what it is told, good or bad."""

    name: ClassVar[str] = "doer"
    description: ClassVar[str] = "Use it to get something done."
    risk: ClassVar[Risk] = "low"
    Config: ClassVar[type[BaseModel]] = BaseModel

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> Doer:
        return cls()

    async def call(self, arguments: dict[str, Any], context: Any) -> dict[str, Any]:
        match arguments.get("do"):
            case "wait":
                await asyncio.Event().wait()
            case "refuse":
                raise ToolError("no such thing")
            case "chatter":
                raise ToolError("x" * 100_000)
            case "crash":
                raise RuntimeError("/secret/path and sk-secret")
            case "lie":
                return {"undone": 1}
            case "mumble":
                return ["no object"]  # type: ignore[return-value]
        return {"done": arguments.get("with", "yes")}


class Acts(Doer):
    """The same with consequences."""

    name: ClassVar[str] = "acts"
    risk: ClassVar[Risk] = "high"


def doer(parameters: Any = PARAMETERS, response: Any = RESPONSE, timeout_s: float = 30) -> ValidatedTool:
    """The tool between schemas."""
    return ValidatedTool(Doer(), parameters, response, timeout_s)


async def answer_to(arguments: object, **options: Any) -> ToolOutcome:
    """What the tool makes of these arguments."""
    return await doer(**options).call(arguments, context())


async def test_a_valid_call_gives_the_tools_own_response() -> None:
    """Between valid arguments and a valid response nothing is changed."""
    assert await answer_to({"do": "it", "with": [1, "二"]}) == ToolOutcome({"done": [1, "二"]})


@pytest.mark.parametrize("missing", [None, "", {}])
async def test_missing_arguments_count_as_none_given(missing: object) -> None:
    """Models leave arguments out, send null, or an empty string."""
    assert await answer_to(missing, parameters=ANYTHING) == ToolOutcome({"done": "yes"})
    assert await answer_to(missing) == ToolOutcome.error("invalid parameters: 'do' is a required property")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "[] is not of type 'object'"),
        (0, "0 is not of type 'object'"),
        ("{}", "'{}' is not of type 'object'"),
        ({"do": 1}, "do: 1 is not of type 'string'"),
        ({"do": None}, "do: None is not of type 'string'"),
        ({"do": "it", "and": "that"}, "Additional properties are not allowed ('and' was unexpected)"),
    ],
)
async def test_arguments_that_break_the_schema_never_reach_the_tool(arguments: object, complaint: str) -> None:
    """The model reads which argument is wrong, and why."""
    assert await answer_to(arguments) == ToolOutcome.error(f"invalid parameters: {complaint}")


async def test_a_complaint_about_a_huge_argument_is_short_and_keeps_its_reason() -> None:
    """The value is quoted before the reason, so the middle is what goes."""
    outcome = await answer_to({"do": "x" * 1_000_000})
    text = outcome.response["error"]
    assert text.startswith("invalid parameters: do: 'xxx")
    assert text.endswith("xxx' is too long")
    assert len(text) < 400


async def test_arguments_too_deep_to_describe_are_an_outcome_too(caplog: pytest.LogCaptureFixture) -> None:
    """Describing them exhausts the stack; the turn goes on."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert await answer_to(deep) == ToolOutcome.error("doer failed unexpectedly")
    assert [record.message for record in caplog.records] == ["tool crashed"]


async def test_a_refusal_of_the_tool_reaches_the_model_in_its_words() -> None:
    """A tool's own error is written for the model."""
    assert await answer_to({"do": "refuse"}) == ToolOutcome.error("no such thing")


async def test_a_refusal_is_cut_where_it_never_ends() -> None:
    """An error must not fill the model's context."""
    outcome = await answer_to({"do": "chatter"})
    assert len(outcome.response["error"]) < 2100


async def test_a_crash_tells_the_model_nothing_and_the_log_everything(caplog: pytest.LogCaptureFixture) -> None:
    """Paths and keys stay inside."""
    assert await answer_to({"do": "crash"}) == ToolOutcome.error("doer failed unexpectedly")
    (record,) = caplog.records
    assert (record.levelno, record.message, vars(record)["tool"]) == (logging.ERROR, "tool crashed", "doer")
    assert "sk-secret" in str(record.exc_info)


async def test_a_tool_that_takes_too_long_times_out() -> None:
    """The number is the time the call had."""
    assert await answer_to({"do": "wait"}, timeout_s=0.05) == ToolOutcome.error("timed out after 0.05 s")


async def test_the_turns_deadline_is_the_tools_too() -> None:
    """A tool never gets longer than the turn has."""
    outcome = await doer(timeout_s=30).call({"do": "wait"}, context(seconds=0.04))
    assert re.fullmatch(r"timed out after 0\.0[34]\d* s", outcome.response["error"])


async def test_a_call_after_the_deadline_times_out_at_once() -> None:
    """It is an outcome, not an exception."""
    outcome = await doer().call({"do": "wait"}, context(seconds=-5))
    assert outcome == ToolOutcome.error("timed out after 0 s")


async def test_cancellation_passes_through() -> None:
    """Whoever cancels a turn must see it end."""
    task = asyncio.create_task(doer().call({"do": "wait"}, context()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("deed", "complaint"),
    [
        ("lie", "'done' is a required property"),
        ("mumble", "['no object'] is not of type 'object'"),
    ],
)
async def test_a_response_that_breaks_the_schema_is_an_error(
    deed: str, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The model never works with data the tool did not promise."""
    assert await answer_to({"do": deed}) == ToolOutcome.error(f"invalid response: {complaint}")
    assert [record.message for record in caplog.records] == ["tool gave an invalid response"]


@pytest.mark.parametrize("unwritable", [float("nan"), {1, 2}, "\ud800"], ids=["nan", "set", "surrogate"])
async def test_a_response_that_is_no_json_is_an_error(unwritable: object, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be sent to a model or stored must not leave the tool."""
    outcome = await answer_to({"do": "it", "with": unwritable})
    assert outcome == ToolOutcome.error("doer failed unexpectedly")


async def test_a_response_too_large_is_cut_and_says_so() -> None:
    """64 KiB are kept, never half a character."""
    words = "雨" * 30_000
    outcome = await answer_to({"do": "it", "with": words})
    whole = len(json.dumps({"done": words}, ensure_ascii=False).encode())
    text = outcome.response["output"]
    mark = f"[truncated: {whole - OUTPUT_CAP} bytes dropped, refine your query]"
    assert text.startswith('{"done": "雨雨')
    assert text.endswith(f"雨{mark}")
    assert OUTPUT_CAP - 3 <= len(text.removesuffix(mark).encode()) <= OUTPUT_CAP


async def test_a_response_that_just_fits_is_left_alone() -> None:
    """The cap counts the bytes of the JSON."""
    words = "x" * (OUTPUT_CAP - len('{"done": ""}'))
    assert await answer_to({"do": "it", "with": words}) == ToolOutcome({"done": words})


def test_the_definition_is_what_the_tool_declares() -> None:
    """Name, description, schemas and risk go to the model unchanged."""
    definition = doer().definition
    assert (definition.name, definition.description, definition.risk) == ("doer", Doer.description, "low")
    assert (definition.parameters, definition.response) == (PARAMETERS, RESPONSE)


def test_what_reads_may_be_called_twice_and_what_acts_may_not() -> None:
    """Unless the tool says otherwise."""
    declared: list[dict[str, Any]] = [{}, {"risk": "high"}, {"idempotent": False}, {"risk": "high", "idempotent": True}]
    made = [ValidatedTool(type("Tool", (Doer,), one)(), PARAMETERS, RESPONSE) for one in declared]
    assert [tool.definition.idempotent for tool in made] == [True, False, False, True]


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"name": "two words"}, "tool name 'two words' must match"),
        ({"name": ""}, "tool name '' must match"),
        ({"name": "x" * 65}, "must match"),
        ({"description": " "}, "tool doer: the description is empty"),
        ({"risk": "none"}, "tool doer: risk must be one of low, high"),
    ],
)
def test_a_badly_declared_tool_stops_start_up(declared: dict[str, str], complaint: str) -> None:
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


def test_low_risk_leaves_out_what_acts() -> None:
    """READ_ONLY offers these alone."""
    assert list(tools().low_risk()) == ["doer"]


def test_missing_schemas_stop_start_up() -> None:
    """The text names the file to write."""
    with pytest.raises(ToolSetupError, match=r"tool nobody: schemas/nobody/parameters\.json cannot be read"):
        read_schemas("nobody")
