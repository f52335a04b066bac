"""The contract: every call is validated on both sides and ends in one outcome."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.toolset.contexts import UsesInMemory, context
from tests.toolset.doer import ANYTHING, doer
from toolset.shown import ToolFile
from toolset.tool import MOST_LEVELS, OUTPUT_CAP, USED_UP, ToolOutcome


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
    assert await answer_to(missing) == ToolOutcome.error(
        "invalid parameters: 'do' is a required property"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "[] is not of type 'object'"),
        (0, "0 is not of type 'object'"),
        ("{}", "'{}' is not of type 'object'"),
        ({"do": 1}, "do: 1 is not of type 'string'"),
        ({"do": None}, "do: None is not of type 'string'"),
        (
            {"do": "it", "and": "that"},
            "Additional properties are not allowed ('and' was unexpected)",
        ),
    ],
)
async def test_arguments_that_break_the_schema_never_reach_the_tool(
    arguments: object, complaint: str
) -> None:
    """The model reads which argument is wrong, and why."""
    assert await answer_to(arguments) == ToolOutcome.error(f"invalid parameters: {complaint}")


async def test_a_complaint_about_a_huge_argument_is_short_and_keeps_its_reason() -> None:
    """The value is quoted before the reason, so the middle is what goes."""
    outcome = await answer_to({"do": "x" * 1_000_000})
    text = outcome.response["error"]
    assert text.startswith("invalid parameters: do: 'xxx")
    assert text.endswith("xxx' is too long")
    assert len(text) < 400


async def test_arguments_too_deep_to_describe_are_refused() -> None:
    """Describing them exhausts the stack; the turn goes on."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert await answer_to(deep) == ToolOutcome.error("invalid parameters: nested too deeply")


async def test_a_refusal_of_the_tool_reaches_the_model_in_its_words() -> None:
    """A tool's own error is written for the model."""
    assert await answer_to({"do": "refuse"}) == ToolOutcome.error("no such thing")


async def test_a_refusal_is_cut_where_it_never_ends() -> None:
    """An error must not fill the model's context."""
    outcome = await answer_to({"do": "chatter"})
    assert len(outcome.response["error"]) < 2100


async def test_a_crash_tells_the_model_nothing_and_the_log_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Paths and keys stay inside."""
    assert await answer_to({"do": "crash"}) == ToolOutcome.error("doer failed unexpectedly")
    (record,) = caplog.records
    assert (record.levelno, record.message, vars(record)["tool"]) == (
        logging.ERROR,
        "tool.crashed",
        "doer",
    )
    assert "sk-secret" in str(record.exc_info)


async def test_a_tool_that_takes_too_long_times_out() -> None:
    """The number is the time the call had."""
    assert await answer_to({"do": "wait"}, timeout_s=0.05) == ToolOutcome.error(
        "timed out after 0.05 s"
    )


async def test_the_turns_deadline_is_the_tools_too() -> None:
    """A tool never gets longer than the turn has."""
    outcome = await doer(timeout_s=30).call({"do": "wait"}, context(seconds=0.04))
    assert re.fullmatch(r"timed out after 0\.0\d* s", outcome.response["error"])


async def test_a_call_after_the_deadline_times_out_at_once() -> None:
    """It is an outcome, not an exception."""
    outcome = await doer().call({"do": "wait"}, context(seconds=-5))
    assert outcome == ToolOutcome.error("timed out after 0 s")


async def test_a_tool_may_allow_few_calls_at_once() -> None:
    """The next one waits within its own time, and says that it has not started."""
    tool = doer(concurrency=1, timeout_s=0.1)
    first = asyncio.create_task(tool.call({"do": "wait"}, context()))
    await asyncio.sleep(0)
    second = await tool.call({"do": "it"}, context(seconds=0.05))
    assert re.fullmatch(r"not started: doer was busy for 0\.0\d* s", second.response["error"])
    assert second.is_error
    assert await first == ToolOutcome.error("timed out after 0.1 s")
    assert await tool.call({"do": "it"}, context()) == ToolOutcome({"done": "yes"})


async def test_one_conversation_leaves_places_to_others() -> None:
    """Half of them, whatever it asks for; its further calls wait for its own."""
    tool = doer(concurrency=2, timeout_s=0.5)
    turns = [context(), context(seconds=0.1), context(seconds=0.1)]
    slow = [asyncio.create_task(tool.call({"do": "wait"}, turn)) for turn in turns]
    await asyncio.sleep(0)
    other = replace(context(), conversation="console:other")
    assert await tool.call({"do": "it"}, other) == ToolOutcome({"done": "yes"})
    assert [outcome.response["error"].split()[0] for outcome in await asyncio.gather(*slow)].count(
        "timed"
    ) == 1


@pytest.mark.parametrize("deed", ["crash", "refuse", "lie"])
async def test_a_call_that_fails_gives_its_place_back(deed: str) -> None:
    """However it ends."""
    tool = doer(concurrency=1)
    for _ in range(2):
        assert (await tool.call({"do": deed}, context())).is_error
    assert await tool.call({"do": "it"}, context(seconds=1)) == ToolOutcome({"done": "yes"})


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
    assert [record.message for record in caplog.records] == ["tool.response_invalid"]


@pytest.mark.parametrize(
    "unwritable", [float("nan"), {1, 2}, "\ud800"], ids=["nan", "set", "surrogate"]
)
async def test_a_response_that_is_no_json_is_an_error(
    unwritable: object, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be sent to a model or stored must not leave the tool."""
    outcome = await answer_to({"do": "it", "with": unwritable})
    assert outcome == ToolOutcome.error("doer failed unexpectedly")


async def test_a_response_too_large_is_cut_and_says_so() -> None:
    """64 KiB stay, never half a character."""
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


def nested_lists(levels: int) -> list[Any]:
    """Made in a loop: how deep a text ``json`` reads differs between versions of Python."""
    nested: list[Any] = []
    for _ in range(levels - 1):
        nested = [nested]
    return nested


@pytest.mark.parametrize(("levels", "is_text"), [(31, False), (32, True), (MOST_LEVELS - 1, True)])
async def test_a_response_nested_too_deeply_becomes_a_text(levels: int, is_text: bool) -> None:
    """A vendor may refuse it as an object."""
    nested = nested_lists(levels)
    outcome = await answer_to({"do": "it", "with": nested})
    assert outcome == ToolOutcome(
        {"output": json.dumps({"done": nested})} if is_text else {"done": nested}
    )


@pytest.mark.parametrize("levels", [MOST_LEVELS, 20_000])
async def test_a_response_nested_far_too_deeply_is_an_error(levels: int) -> None:
    """A server can nest thousands of levels in a few bytes; every Python answers the same."""
    outcome = await answer_to({"do": "it", "with": nested_lists(levels)})
    assert outcome == ToolOutcome.error("invalid response: nested too deeply")


async def test_files_stand_beside_the_object() -> None:
    """The object alone is validated, and the model gets it; the files are for the user."""
    chart = ToolFile("chart.png", "image/png", b"\x89PNG", "20 °C at noon")
    outcome = await answer_to({"do": "draw", "with": chart})
    assert outcome == ToolOutcome({"done": "drawn"}, files=(chart,))


async def test_a_person_may_call_a_tool_so_often_a_day() -> None:
    """A call that is repeated after a crash is counted once, and one with wrong arguments not at
    all."""
    tool, uses = doer(per_day=2), UsesInMemory()

    async def call(key: str, **arguments: Any) -> ToolOutcome:
        return await tool.call(
            arguments, replace(context(), find_store=uses.find, idempotency_key=key)
        )

    assert (await call("wrong", do=1)).is_error
    assert [await call(key, do="it") for key in ("a", "a", "b")] == [
        ToolOutcome({"done": "yes"})
    ] * 3
    assert await call("c", do="it") == ToolOutcome.error(USED_UP.format(name="doer", limit=2))
    assert await call("b", do="it") == ToolOutcome({"done": "yes"})


async def test_where_nothing_is_counted_there_is_no_limit_of_the_day() -> None:
    """On the command line, and of a tool without one."""
    assert await doer(per_day=1).call({"do": "it"}, context()) == ToolOutcome({"done": "yes"})
    uses = UsesInMemory()
    await doer().call({"do": "it"}, replace(context(), find_store=uses.find))
    assert uses.taken == {}
