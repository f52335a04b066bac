"""A turn's transcript: what is open, who asks, which choice holds."""

from __future__ import annotations

import asyncio

import pytest

from bot.agent.turn import (
    ApprovalDecision,
    RecordedResponse,
    Turn,
    TurnContext,
    TurnStep,
    apply_changes,
)
from bot.transcript import Author, Message, Text, ToolCall, ToolResult
from tests.bot.agent.test_loop import Notes
from tests.fakes.tools import Launch, tool_map

LAUNCH = tool_map(Launch())["launch"].definition


def make(notes: Notes) -> Turn:
    context = TurnContext("console:x", "", "en", "UTC", notes)
    return Turn("t1", context, [], [user("a")], notes, 0.0)


def user(message_id: str, author: Author | None = None) -> Message:
    return Message(message_id, "user", (Text("hi"),), 1, author)


def model(message_id: str, *calls: str) -> Message:
    parts = tuple(ToolCall(call, "echo", {}) for call in calls) or (Text("answer"),)
    return Message(message_id, "model", parts, 1)


def tool(message_id: str, call: str) -> Message:
    return Message(message_id, "tool", (ToolResult(call, "echo", {}),), 1)


EARLIER = (user("u0"), model("a0"))
ONE = (user("u1"), user("u2"), model("c1", "c"), tool("r1", "c"), user("u3"), model("a1"))


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        (["u0"], "u1 u2 c1 r1 u3 a1"),
        (["u1"], "u0 a0 u2 c1 r1 u3 a1"),
        (["u1", "u2"], "u0 a0 u3 a1"),
        (["u3"], "u0 a0 u1 u2 c1 r1 a1"),
        (["u1", "u2", "u3"], "u0 a0"),
        (["u0", "u1", "u2"], "u3 a1"),
        (["nobody"], "u0 a0 u1 u2 c1 r1 u3 a1"),
    ],
)
def test_what_only_a_message_taken_back_had_led_to_goes_with_it(gone: list[str], left: str) -> None:
    """Every call keeps a question before it and its result behind it; what others asked as well
    stays."""
    stored = apply_changes([*EARLIER, *ONE], dict.fromkeys(gone))
    assert [message.id for message in stored] == left.split()


def test_an_edit_changes_the_words_and_nothing_else() -> None:
    """Author, time and place in the order are the first message's."""
    first, new = user("u1", Author("hanako")), Message("e1", "user", (Text("corrected"),), 9)
    assert apply_changes([first, user("u2")], {"u1": new}) == [
        Message("u1", "user", (Text("corrected"),), 1, Author("hanako"), edited_at=9),
        user("u2"),
    ]


async def test_a_call_is_begun_and_reviewed_once_in_its_round() -> None:
    """A later round may use the same id, as some servers do: what was allowed before is not allowed
    by that."""
    turn = make(Notes())
    for number in range(2):
        call = ToolCall("c", "echo", {"n": number})
        turn.restore(RecordedResponse(Message("m", "model", (call,), 1), "tool_use"))
        assert [await turn.record_started(call), await turn.record_started(call)] == [True, False]
        assert [(await turn.review(call, LAUNCH, "", "")).arguments for _ in range(2)] == [
            call.arguments
        ] * 2
        turn.restore(ApprovalDecision("c", approved=True, arguments=call.arguments))
        assert (await turn.review(call, LAUNCH, "", "")).approved
        turn.restore(ToolResult("c", "echo", {}))


async def test_a_response_whose_record_is_broken_off_has_its_calls_open() -> None:
    """It may be on record all the same, so they need results before anything else is."""

    class Stuck(Notes):
        async def record(self, step: TurnStep) -> None:
            await asyncio.Event().wait()

    turn = make(Stuck())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await turn.record_response(RecordedResponse(model("m", "c"), "tool_use"))
    assert [call.id for _, call in turn.open_calls()] == ["c"]
