"""Sorting out a batch: what the model reads, what is changed first, what is ours to say."""

from __future__ import annotations

from msgspec.structs import replace

from bot.agent.turn import apply_changes
from bot.channels import InboundEvent
from bot.commands import SpokenCommands
from bot.live_events import SAY
from bot.pipeline.select import Triage, parse, triage
from bot.texts import load
from tests.bot.harness import edited, unsent, words

COMMANDS = SpokenCommands(load())


def message_event(message_id: str, text: str) -> InboundEvent:
    return InboundEvent(words(message_id, text))


def sort(events: list[InboundEvent]) -> Triage:
    return triage(parse(event, COMMANDS) for event in events)


def texts(events: list[InboundEvent]) -> list[str]:
    return [event.message.text for event in events]


def test_an_edit_in_the_same_batch_changes_the_message_itself() -> None:
    """Who corrects a typo before the bot has looked is answered once, to the corrected words."""
    batch = sort(
        [message_event("a", "wether?"), message_event("b", "hi"), edited("e1", "a", "weather?")]
    )
    assert (texts(batch.messages), batch.edited) == (["weather?", "hi"], {})


def test_a_message_taken_back_before_it_was_read_is_not_answered() -> None:
    """Nothing is left to answer, and nothing to change in the history."""
    batch = sort([message_event("a", "oops"), unsent("e1", "a")])
    assert (batch.messages, batch.edited) == ([], {})


def test_changes_to_earlier_turns_wait_for_the_history() -> None:
    """An edit and a message taken back whose targets are not in the batch."""
    batch = sort([edited("e1", "old1", "new words"), unsent("e2", "old2")])
    before = [
        message_event("old1", "old words").message,
        message_event("old2", "secret").message,
        message_event("x", "kept").message,
    ]
    assert [message.text for message in apply_changes(before, batch.edited)] == [
        "new words",
        "kept",
    ]


def test_what_stands_before_a_reset_is_not_answered_any_more() -> None:
    """The order within a batch counts."""
    said = message_event("a", "one"), message_event("b", "/reset"), message_event("c", "two")
    batch = sort([*said])
    assert texts(batch.messages) == ["two"]
    assert [one.command for one in batch.commands] == ["reset"]


def test_a_pressed_choice_is_no_command() -> None:
    """The model has written it."""
    batch = sort([replace(message_event("a", "forget me"), action=SAY)])
    assert (texts(batch.messages), batch.commands) == (["forget me"], [])


def test_commands_are_whole_messages_in_both_languages() -> None:
    """Words count however they are written; a sentence that holds them is for the model."""
    commands = {
        "/help": "help",
        "Help!": "help",
        " ヘルプ ": "help",
        "リセット。": "reset",
        "FORGET  ME": "forget",
        "忘れて": "forget",
    }
    assert {text: COMMANDS.read(text) for text in commands} == commands
    assert COMMANDS.read("Can you help me with the weather?") is None
    assert COMMANDS.read("") is None


def test_a_message_before_a_stop_can_be_taken_back_in_the_same_batch() -> None:
    """Its words stay nowhere; those of its neighbour stay, with the edit that has come with
    them."""
    before = [
        message_event("a", "oops"),
        message_event("b", "wether?"),
        message_event("s", "/stop"),
    ]
    batch = sort([*before, edited("e1", "b", "weather?"), unsent("u", "a")])
    assert (texts(batch.superseded), batch.messages, batch.edited) == (["weather?"], [], {})


def test_a_command_that_is_taken_back_in_time_is_not_run() -> None:
    """As if nobody had said it."""
    batch = sort([message_event("a", "weather?"), message_event("r", "/reset"), unsent("u", "r")])
    assert (texts(batch.messages), batch.commands) == (["weather?"], [])


def test_of_two_crossed_edits_the_newer_one_counts() -> None:
    """By the platform's time, whether or not the message is in the batch."""
    older = edited("e1", "a", "older")
    newer = replace(
        older, message=replace(message_event("e2", "newer").message, at=older.message.at + 1)
    )
    assert texts(sort([message_event("a", "old"), newer, older]).messages) == ["newer"]
    changed = sort([newer, older]).edited["a"]
    assert changed is not None
    assert changed.text == "newer"
    once = apply_changes([message_event("a", "old").message], sort([newer]).edited)
    assert [message.text for message in apply_changes(once, sort([older]).edited)] == ["newer"]


def test_an_edit_behind_a_retraction_brings_nothing_back() -> None:
    """They have crossed: what was taken back stays so."""
    batch = sort([unsent("u", "old"), edited("e1", "old", "newer")])
    assert batch.edited == {"old": None}
