"""What people say, and how the model takes it, where processes die."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bot.channels import Album, InboundEvent
from bot.errors import TryAgain
from bot.providers.scripted import Step
from bot.transcript import Author, Message, Text, ToolCall
from tests.bot.harness import WRITTEN_AT, decision_of
from tests.crash.simulation import Meanwhile, Think


def says(message_id: str, text: str, author: str = "u1") -> InboundEvent:
    return InboundEvent(
        Message(message_id, "user", (Text(text),), WRITTEN_AT, Author(author)), "address"
    )


def takes_back(message_id: str, target: str) -> InboundEvent:
    return InboundEvent(says(message_id, "").message, "address", event="unsent", target=target)


def edits(message_id: str, text: str, target: str) -> InboundEvent:
    return InboundEvent(says(message_id, text).message, event="edited", target=target)


def comes(message_id: str, text: str, *, routine: bool = False) -> InboundEvent:
    """A reminder whose time has come."""
    said = says(f"{message_id}_{WRITTEN_AT}", text)
    if routine:
        return replace(said, action="reminders.routine", scheduled="task")
    return replace(said, action="reminders.due", scheduled="shown")


def picture(message_id: str, text: str) -> InboundEvent:
    return InboundEvent(says(message_id, text).message, album=Album("two of them", 2))


def presses(press_id: str, *, approved: bool = True, author: str = "u1") -> InboundEvent:
    """A button of the newest question."""
    return decision_of(says(press_id, "", author).message, "", approved=approved, address="button")


def after(done: str, event: InboundEvent) -> tuple[Meanwhile, ...]:
    """Something that comes in meanwhile."""
    return ((done, event),)


TOKYO = says("m1", "Tokyo?")


def answers(messages: Sequence[Message]) -> Step:
    return Step(
        "Heard: " + " ".join(message.text for message in messages if message.role == "user")
    )


def asks(tool: str, *numbers: int, then: Think = answers) -> Think:
    """First for calls, in whatever turn ``TOKYO`` stands."""
    calls = tuple(ToolCall("", tool, {"n": n}) for n in numbers)

    def think(messages: Sequence[Message]) -> Step:
        is_open = TOKYO.message.text in [message.text for message in messages]
        is_known = any(message.role == "tool" for message in messages)
        return Step(calls=calls) if is_open and not is_known else then(messages)

    return think


def is_down(messages: Sequence[Message]) -> Step:
    return Step(error=TryAgain("model_down", "503"))
