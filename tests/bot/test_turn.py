"""A turn's transcript: what is open, who asks, which choice holds."""

from __future__ import annotations

from bot.providers import AUTO, ToolChoice
from bot.transcript import Author, Message, Text, ToolCall, ToolResult
from bot.turn import NOBODY, Surroundings, Turn
from tests.bot.test_agent import Notes


def make(*arrived: Message, history: tuple[Message, ...] = (), choice: ToolChoice = AUTO) -> Turn:
    notes = Notes()
    return Turn("t1", Surroundings("console:x", "", "en", "UTC", notes), history, arrived, notes, 0.0, choice)


def user(message_id: str, author: Author | None = None) -> Message:
    return Message(message_id, "user", (Text("hi"),), 1, author)


def test_the_history_stands_before_what_the_turn_adds() -> None:
    """The model is sent the history first, then the turn's own messages."""
    before, now = user("old"), user("new")
    assert make(now, history=(before,)).messages == [before, now]


def test_the_asker_is_the_author_of_the_newest_user_message() -> None:
    """In a group the last one to speak is the one who is answered."""
    assert make(user("a", Author("u1")), user("b", Author("u2"))).asker == Author("u2")
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
    turn.restore_message(Message("m", "model", (ToolCall("c", "echo", {}),), 1), "tool_use")
    assert turn.tool_choice == AUTO


def test_the_last_result_closes_the_round() -> None:
    """Results wait for one another and go into one message that is named after the calls' message."""
    turn = make(user("a"))
    turn.restore_message(Message("m", "model", (ToolCall("c1", "echo", {}), ToolCall("c2", "echo", {})), 1), "tool_use")
    turn.restore_result(ToolResult("c2", "echo", {}))
    assert [call.id for _, call in turn.open_calls()] == ["c1"]
    turn.restore_result(ToolResult("c1", "echo", {}))
    assert turn.added[-1].id == "m_results"
    assert [result.call_id for result in turn.added[-1].results] == ["c1", "c2"]
    assert turn.rounds == 1


def test_two_calls_of_one_id_share_their_result() -> None:
    """A provider should never do that; the transcript stays whole where one does."""
    turn = make(user("a"))
    turn.restore_message(Message("m", "model", (ToolCall("c", "echo", {}), ToolCall("c", "echo", {})), 1), "tool_use")
    turn.restore_result(ToolResult("c", "echo", {}))
    assert [result.call_id for result in turn.added[-1].results] == ["c", "c"]
