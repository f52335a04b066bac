"""The model's reason for a call that acts: asked for, taken out, and handed to whoever decides."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import Decoder, decode

from bot.agent.hooks import Hook, Intervention
from bot.agent.loop import MOST_KNOWN, PROPERTY, Declarations, with_reason_apart
from bot.agent.tool_runner import MAX_REPEATED
from bot.agent.turn import RecordedResponse
from bot.live_events import ToolStarted
from bot.pipeline.journal import RESPONSE
from bot.providers.scripted import Step
from bot.providers.shared.schema_dialect import strict_form
from bot.store import Store
from bot.transcript import Opaque, ToolCall
from tests.bot.harness import HERE, Harness
from tests.bot.pipeline.tool_rounds import STRICT, Round, call
from tests.fakes.tools import ANY_OBJECT, Echo, Launch, tool_map
from toolset.tool import ToolContext, ToolDefinition, ValidatedTool
from toolset.tool_map import ToolMap

OWN = {"type": "object", "properties": {"reason": {"type": "string"}}}
WHY = "You asked for it."


def launch_with(parameters: dict[str, Any]) -> ToolDefinition:
    return ValidatedTool(Launch(), parameters, ANY_OBJECT).definition


def test_a_tool_that_acts_asks_for_a_reason() -> None:
    """Required, beside its own parameters; a tool that reads stays as it is, and so does the tool's
    own definition."""
    acting, reading = launch_with(STRICT), ValidatedTool(Echo(), STRICT, ANY_OBJECT).definition
    reported, untold = Declarations().of((acting, reading))
    assert reported.parameters == {
        **STRICT,
        "properties": {"n": {"type": "integer"}, "reason": PROPERTY},
        "required": ["reason"],
    }
    assert untold is reading
    assert acting.parameters == STRICT


def test_the_same_tools_are_told_as_the_same_object() -> None:
    """Providers keep what they have written for it; of ever new tools only a few are kept."""
    declarations = Declarations()
    groups = [(launch_with(STRICT),) for _ in range(MOST_KNOWN + 1)]
    assert declarations.of(groups[0]) is declarations.of(groups[0])
    reported = [declarations.of(group) for group in groups]
    assert [group[0].parameters["required"] for group in reported] == [["reason"]] * len(groups)
    assert declarations.of(groups[-1]) is reported[-1]


def test_a_vendors_strict_mode_stays_possible() -> None:
    """It wants every property required."""
    [reported] = Declarations().of((launch_with({**STRICT, "required": ["n"]}),))
    assert strict_form(dict(reported.parameters)) is not None


@pytest.mark.parametrize(
    "parameters",
    [
        OWN,
        {"type": "object", "allOf": [OWN]},
        {"type": "object", "$ref": "#/$defs/x", "$defs": {"x": OWN}},
        {"type": "object", "patternProperties": {"^r": {}}},
        {"type": "object", "maxProperties": 1},
    ],
)
def test_a_tool_with_a_reason_of_its_own_keeps_it(parameters: dict[str, Any]) -> None:
    """Also where the schema may have one, or allows no more properties."""
    tool = launch_with(parameters)
    assert Declarations().of((tool,)) == (tool,)
    made = call("launch", "c1", reason="mine")
    assert with_reason_apart(made, tool) == made


def test_a_call_of_another_tool_keeps_its_arguments() -> None:
    """One that reads, or one that nobody knows; a reason that is no text is taken out all the
    same."""
    made = call("launch", "c1", reason="mine")
    assert with_reason_apart(made, None) == made
    assert with_reason_apart(made, ValidatedTool(Echo(), ANY_OBJECT, ANY_OBJECT).definition) == made
    assert with_reason_apart(
        call("launch", "c1", reason={"a": 1}), launch_with(ANY_OBJECT)
    ) == call("launch", "c1")


class Looking(Hook):
    """Notes the calls it sees."""

    def __init__(self) -> None:
        self.seen: list[ToolCall] = []

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        self.seen.append(call)
        return None


async def test_the_reason_reaches_who_decides_and_nobody_else() -> None:
    """Hook, validation, live view and tool get the call without it."""
    hook, launch = Looking(), Launch()
    round_ = Round(ToolCall("c1", "launch", {"n": 1}, WHY), hooks=[hook], c1=True)
    [result] = await round_.run(ToolMap([ValidatedTool(launch, STRICT, ANY_OBJECT)]))
    bare = call("launch", "c1", n=1)
    assert result.response == {"heard": {"n": 1}}
    assert hook.seen == [bare]
    [acting] = round_.diary.reviewed
    assert (acting.call, acting.reason, acting.tool.name) == (bare, WHY, "launch")
    assert [message.role for message in acting.led_to] == ["user", "model"]
    assert round_.diary.shown[0] == ToolStarted("c1", "launch", {"n": 1})


async def test_the_reason_is_recorded_apart(store: Store) -> None:
    """The vendor's own form stays as it is."""
    opaque = Opaque(
        "vendor", "model", b'{"signature": "s", "args": {"n": 1, "reason": "You asked for it."}}'
    )
    tool = ValidatedTool(Launch(), STRICT, ANY_OBJECT)
    step = Step(calls=(call("launch", "c1", n=1, reason=WHY),), opaque=opaque)
    harness = Harness(store, [step], None, ToolMap([tool]))
    await harness.receive("launch it", "m1")
    await harness.runner.process(HERE)
    [recorded] = [entry.body for entry in await store.journal.read(HERE) if entry.kind == RESPONSE]
    [earlier] = decode(recorded)["message"]["parts"]
    assert (earlier["arguments"], earlier["reason"]) == ({"n": 1}, WHY)
    assert tool.complaint(earlier["arguments"]) == ""
    assert Decoder(RecordedResponse).decode(recorded).message.opaque == opaque


async def test_what_runs_is_shown_by_its_title() -> None:
    """In the asker's language; a tool without one has its name alone."""
    kind = type("Titled", (Echo,), {"titles": {"en": "Echo", "ja": "こだま"}})
    round_ = Round(call("echo", "c1"), call("nobody", "c2"))
    await round_.run(tool_map(kind()))
    started = [event for event in round_.diary.shown if isinstance(event, ToolStarted)]
    assert started == [ToolStarted("c1", "echo", {}, "こだま"), ToolStarted("c2", "nobody", {})]


async def test_another_reason_makes_no_other_call() -> None:
    """The same call in a row is stopped, whatever is said for it."""
    round_ = Round(ToolCall("c0", "launch", {}, "0"), c0=True, c1=True, c2=True)
    await round_.run()
    for number in range(1, MAX_REPEATED + 1):
        round_.respond(ToolCall(f"c{number}", "launch", {}, str(number)))
        await round_.run()
    assert len(round_.launch.contexts) == MAX_REPEATED
    assert "same call" in str(round_.responses()[0])
