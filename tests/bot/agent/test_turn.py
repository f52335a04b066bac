"""A turn's transcript: what is open, who asks, which choice holds."""

from __future__ import annotations

import asyncio

import pytest

from bot.agent.turn import NOBODY, ApprovalDecision, Turn, TurnContext, TurnStep, apply_changes
from bot.providers import AUTO, ToolChoice
from bot.transcript import Author, Message, Text, ToolCall, ToolResult
from tests.bot.agent.test_loop import Notes
from tests.fakes.tools import Launch, tool_map

LAUNCH = tool_map(Launch())["launch"].definition


def make(*arrived: Message, history: tuple[Message, ...] = (), choice: ToolChoice = AUTO) -> Turn:
    notes = Notes()
    context = TurnContext("console:x", "", "en", "UTC", notes, tool_choice=choice)
    return Turn("t1", context, history, arrived, notes, 0.0)


def user(message_id: str, author: Author | None = None) -> Message:
    return Message(message_id, "user", (Text("hi"),), 1, author)


async def test_the_history_stands_before_what_the_turn_adds() -> None:
    """The model is sent the history first, then the turn's own messages."""
    before, now = user("old"), user("new")
    assert await make(now, history=(before,)).request() == [before, now]


def test_the_asker_is_the_author_of_the_messages() -> None:
    """The newest one tells the name; a message without an author is nobody's."""
    assert make(user("a", Author("u1")), user("b", Author("u1", "Hanako"))).asker == Author(
        "u1", "Hanako"
    )
    assert make(user("a")).asker == NOBODY
    assert make().asker == NOBODY


def test_a_turn_without_messages_has_nothing_open() -> None:
    """Nothing said, nothing called, nothing answered."""
    turn = make()
    assert (turn.calls, turn.answer, turn.open_calls(), turn.rounds) == ((), None, [], 0)


def test_a_forced_choice_is_over_once_the_model_has_spoken() -> None:
    """The forced tool holds until the first model message."""
    forced = ToolChoice("required")
    turn = make(user("a"), choice=forced)
    assert turn.tool_choice == forced
    turn.restore_response(Message("m", "model", (ToolCall("c", "echo", {}),), 1), "tool_use")
    assert turn.tool_choice == AUTO


def test_the_last_result_closes_the_round() -> None:
    """Results wait for one another and go into one message that is named after the calls'
    message."""
    turn = make(user("a"))
    turn.restore_response(
        Message("m", "model", (ToolCall("c1", "echo", {}), ToolCall("c2", "echo", {})), 1),
        "tool_use",
    )
    turn.restore_result(ToolResult("c2", "echo", {}))
    assert [call.id for _, call in turn.open_calls()] == ["c1"]
    turn.restore_result(ToolResult("c1", "echo", {}))
    assert turn.added[-1].id == "m_results"
    assert [result.call_id for result in turn.added[-1].results] == ["c1", "c2"]
    assert turn.rounds == 1


def test_two_calls_of_one_id_share_their_result() -> None:
    """A provider should never do that; the transcript stays whole where one does."""
    turn = make(user("a"))
    turn.restore_response(
        Message("m", "model", (ToolCall("c", "echo", {}), ToolCall("c", "echo", {})), 1), "tool_use"
    )
    turn.restore_result(ToolResult("c", "echo", {}))
    assert [result.call_id for result in turn.added[-1].results] == ["c", "c"]


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
    turn = make(user("a"))
    for number in range(2):
        call = ToolCall("c", "echo", {"n": number})
        turn.restore_response(Message("m", "model", (call,), 1), "tool_use")
        assert [await turn.record_started(call), await turn.record_started(call)] == [True, False]
        assert [(await turn.review(call, LAUNCH, "", "")).arguments for _ in range(2)] == [
            call.arguments
        ] * 2
        turn.restore_decision(ApprovalDecision("c", approved=True, arguments=call.arguments))
        assert (await turn.review(call, LAUNCH, "", "")).approved
        turn.restore_result(ToolResult("c", "echo", {}))


async def test_a_response_whose_record_is_broken_off_has_its_calls_open() -> None:
    """It may be on record all the same, so they need results before anything else is."""

    class Stuck(Notes):
        async def record(self, step: TurnStep) -> None:
            await asyncio.Event().wait()

    notes = Stuck()
    turn = Turn("t1", TurnContext("console:x", "", "en", "UTC", notes), [], [user("a")], notes, 0.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await turn.record_response(model("m", "c"), "tool_use")
    assert [call.id for _, call in turn.open_calls()] == ["c"]
