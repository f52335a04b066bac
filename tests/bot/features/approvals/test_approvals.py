"""Calls that act, on a real store: asked about, parked, decided once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pytest

from bot.channels import InboundEvent
from bot.features.approvals.answers import CHANGED
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.settings import NO_FIELDS
from bot.store import ASIDE, Store
from bot.transcript import Author, Message, Text, ToolCall, encode
from tests.bot.harness import (
    HERE,
    SHOWN_AT,
    WRITTEN_AT,
    Harness,
    Mailbox,
    decision_of,
    edited,
    unsent,
)
from tests.fakes.tools import Echo, Launch, tool_map
from toolset.tool import ToolContext

LAUNCH = Step(calls=(ToolCall("c1", "launch", {"what": "rocket"}),))


class Watched(Launch):
    """Remembers what had been said when it was called."""

    reported: list[str]
    box: Mailbox

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self.reported = self.box.texts[-1:]
        return await super().call(arguments, context)


class Scene:
    """A conversation in which a rocket may be launched."""

    def __init__(
        self,
        store: Store,
        *steps: Step,
        settings: Mapping[str, Any] = NO_FIELDS,
        first: Step | None = LAUNCH,
        others: Sequence[Echo] = (),
    ) -> None:
        self.launch = Watched()
        tools = tool_map(self.launch, Echo(), *others)
        self.harness = Harness(store, [first, *steps] if first else steps, None, tools, settings)
        self.launch.box = self.harness.box
        self.store = store

    async def say(
        self,
        text: str,
        message_id: str,
        user: str = "u1",
        at: int = WRITTEN_AT,
        *,
        group: bool = False,
    ) -> None:
        await self.accept(text, message_id, user, at, group=group)
        await self.harness.runner.process(HERE)

    async def accept(
        self,
        text: str,
        message_id: str,
        user: str = "u1",
        at: int = WRITTEN_AT,
        *,
        group: bool = False,
    ) -> None:
        message = Message(message_id, "user", (Text(text),), at, Author(user, user.upper()))
        await self.harness.intake(HERE, InboundEvent(message, f"at-{message_id}", group))

    async def press(
        self, approved: bool, press_id: str, user: str = "u1", question: str = ""
    ) -> None:
        target = question or self.question
        message = Message(press_id, "user", (), WRITTEN_AT, Author(user, user.upper()))
        event = decision_of(message, target, approved=approved, address=f"at-{press_id}")
        await self.harness.intake(HERE, event)
        await self.harness.runner.process(HERE)

    @property
    def question(self) -> str:
        return next(filter(None, (d.reply.awaited for d in reversed(self.harness.box.delivered))))

    @property
    def result(self) -> object:
        return self.harness.model.requests[-1].messages[-1].results[0]


async def test_an_approved_call_runs_once_however_often_the_button_is_pressed(store: Store) -> None:
    """Asked, parked, approved, run, answered to where the button was pressed."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    assert scene.launch.contexts == []
    asked = scene.harness.box.delivered[0]
    assert asked.reply.card is not None
    assert (asked.reply.card.rows[0], asked.reply.card.asker_id) == (("", "launch"), "u1")
    assert "what: rocket" in asked.reply.text
    await scene.press(True, "p1")
    await scene.press(True, "p2")
    assert len(scene.launch.contexts) == 1
    assert [d.reply.text for d in scene.harness.box.delivered[1:]] == [
        "Allowed: launch. (U1)",
        "Launched",
        "This has been decided already, or it has expired.",
    ]
    assert scene.harness.box.delivered[2].address == "at-p1"
    assert await store.leases.due(10) == []


@pytest.mark.parametrize(
    ("words", "runs"), [("yes", 1), ("はい。", 1), ("No!", 0), ("いいえ", 0), ("on Friday", 0)]
)
async def test_the_askers_words_decide(store: Store, words: str, runs: int) -> None:
    """Yes and no in both languages; anything else is a no. The words are a message of the turn, and
    stand nowhere else: so they can be taken back."""
    scene = Scene(store, Step("Well"))
    await scene.say("launch it", "m1")
    await scene.say(words, "m2")
    assert len(scene.launch.contexts) == runs
    assert scene.harness.box.texts[-1] == "Well"
    messages = scene.harness.model.requests[-1].messages
    assert [message.role for message in messages] == ["user", "model", "tool", "user"]
    assert messages[-1].text == words
    (result,) = messages[2].results
    assert result.is_rejected is (runs == 0)
    if runs == 0:
        assert result.response == {"error": "rejected by the user"}


async def test_words_that_decided_leave_nothing_behind_when_they_are_taken_back(
    store: Store,
) -> None:
    """Neither the history nor a later request has them, though a call was rejected with them."""
    scene = Scene(store, Step("Well"), Step("Hello!"))
    await scene.say("launch it", "m1")
    await scene.say("not before Friday", "m2")
    assert scene.harness.box.texts[-1] == "Well"
    await scene.harness.arrive(unsent("e1", "m2"))
    await scene.say("hello", "m3")
    assert scene.harness.box.texts[-1] == "Hello!"
    later = [*scene.harness.model.requests[-1].messages, *await read_history(store, HERE)]
    assert b"Friday" not in encode(later)


@pytest.mark.parametrize(("how", "spoken"), [("shown", "⏰ yes"), ("task", "Done")])
async def test_a_reminder_decides_nothing_and_waits(
    store: Store, how: Literal["shown", "task"], spoken: str
) -> None:
    """Whatever its text: it is said after the decision."""
    scene = Scene(store, Step("Launched"), Step("Done"))
    await scene.say("launch it", "m1")
    at = await store.now_ms(HERE) + 5_000
    rung = Message(f"r1_{at}", "user", (Text("A reminder: "), Text("yes")), at, Author("u1"))
    event = InboundEvent(rung, action="reminders.due", scheduled=how, target="r1")
    assert await store.inbox.accept(HERE, rung.id, encode(event), ASIDE)
    await scene.harness.runner.process(HERE)
    assert scene.launch.contexts == []
    assert len(scene.harness.box.texts) == 1
    await scene.say("yes", "m2")
    assert len(scene.launch.contexts) == 1
    assert scene.harness.box.texts[-1] == spoken


async def test_others_cannot_decide_and_their_messages_wait(store: Store) -> None:
    """A press of somebody else is refused politely, words of somebody else get their own turn
    afterwards."""
    scene = Scene(store, Step("Launched"), Step("For you, too"))
    await scene.say("launch it", "m1")
    await scene.press(True, "p1", "u2")
    assert scene.harness.box.delivered[-1].reply.private
    await scene.say("yes", "m2", "u2")
    assert scene.launch.contexts == []
    assert await store.leases.due(10) == []
    await scene.say("yes", "m3")
    assert len(scene.launch.contexts) == 1
    assert scene.harness.box.texts[-2:] == ["Launched", "For you, too"]


async def test_an_approver_may_decide(store: Store) -> None:
    """APPROVERS decide for everybody."""
    scene = Scene(store, Step("Launched"), settings={"approvers": ("boss",)})
    await scene.say("launch it", "m1")
    await scene.press(True, "p1", "boss")
    assert len(scene.launch.contexts) == 1


async def test_nobody_is_the_asker_of_a_question_without_one(store: Store) -> None:
    """Two people whose ids the platform keeps back are not one: only somebody who may approve is
    asked."""
    scene = Scene(store, Step("Launched"), settings={"approvers": ("boss",)})
    await scene.say("launch it", "m1", "")
    await scene.press(True, "p1", "")
    await scene.say("yes", "m2", "")
    assert scene.launch.contexts == []
    await scene.press(True, "p2", "boss")
    assert len(scene.launch.contexts) == 1


async def test_without_an_asker_or_approvers_nobody_is_asked(store: Store) -> None:
    """Nobody could decide: it is a no at once."""
    scene = Scene(store, Step("Well"))
    await scene.say("launch it", "m1", "")
    assert scene.launch.contexts == []
    assert scene.result.response == {  # type: ignore[attr-defined]
        "error": "rejected: it is not known who asked, and nobody else may approve"
    }
    assert scene.harness.box.texts == ["Well"]


@pytest.mark.parametrize(("mode", "runs"), [("auto_reject", 0), ("auto_approve", 1)])
async def test_modes_decide_without_asking(store: Store, mode: str, runs: int) -> None:
    """Nobody is asked."""
    scene = Scene(store, Step("Well"), settings={"approval_mode": mode})
    await scene.say("launch it", "m1")
    assert len(scene.launch.contexts) == runs
    assert scene.harness.box.texts == ["Well"]


async def test_an_entry_that_cannot_be_read_waits_behind_a_question(store: Store) -> None:
    """The question stays open, and is decided as if nothing else waited."""
    scene = Scene(store, Step("Well"))
    await scene.say("launch it", "m1")
    await store.inbox.accept(HERE, "x1", b"{")
    async with asyncio.timeout(10):
        await scene.harness.runner.process(HERE)
    await scene.say("no", "m2")
    assert scene.harness.box.texts[-1] == "Well"
    assert await store.leases.due(10) == []


async def test_the_outcome_is_told_before_the_turn_goes_on(store: Store) -> None:
    """Whoever looks at the question sees at once that it is decided, however long the call
    takes."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await scene.press(True, "p1")
    assert scene.launch.reported == ["Allowed: launch. (U1)"]


async def test_what_a_stop_overtakes_stays_part_of_the_conversation(store: Store) -> None:
    """Messages that waited are not answered, and not lost either; whoever did not want to stop is
    answered."""
    scene = Scene(store, Step("Sunny"))
    await scene.say("launch it", "m1")
    await scene.accept("the weather?", "m2", "u2")
    await scene.accept("and then another", "m3", at=SHOWN_AT)
    await scene.say("/stop", "m4")
    texts = [
        message.text for message in await read_history(scene.harness.store, HERE) if message.text
    ]
    assert texts == ["launch it", "and then another", "/stop", "Stopped.", "the weather?", "Sunny"]


async def test_a_stop_for_what_has_not_begun_says_so(store: Store) -> None:
    """It was still in time: nothing of it is answered."""
    scene = Scene(store)
    await scene.accept("launch it", "m1")
    await scene.say("/stop", "m2")
    assert scene.harness.box.texts == ["Stopped."]
    await scene.say("/stop", "m3")
    assert scene.harness.box.texts[-1] == "There was nothing to stop."


async def test_an_edit_of_the_request_ends_its_question(store: Store) -> None:
    """The new words are answered, and the old button runs nothing."""
    again = Step(calls=(ToolCall("c2", "launch", {"what": "balloon"}),))
    scene = Scene(store, again, Step("Launched"))
    await scene.say("launch a rocket", "m1")
    old = scene.question
    await scene.harness.arrive(edited("e1", "m1", "launch a balloon"))
    await scene.harness.runner.process(HERE)
    asked = scene.harness.model.requests[-1].messages
    assert [message.text for message in asked if message.role == "user"] == ["launch a balloon"]
    assert asked[2].results[0].response == {"error": CHANGED}
    assert "The request was edited, so this was not done: launch." in scene.harness.box.texts
    await scene.press(True, "p1", question=old)
    assert scene.launch.contexts == []
    await scene.press(True, "p2")
    assert [context.call_id for context in scene.launch.contexts] == ["c2"]
    assert scene.harness.box.texts[-1] == "Launched"


class Interrupted(Echo):
    """Is called while something comes in."""

    name: ClassVar[str] = "interrupted"
    scene: Scene
    event: InboundEvent

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        await self.scene.harness.arrive(self.event)
        return await super().call(arguments, context)


def interrupted(store: Store, event: InboundEvent, *steps: Step) -> Scene:
    """Something comes in between the model's calls and the question about one of them."""
    first = Step(calls=(ToolCall("c0", "interrupted", {}), *LAUNCH.calls))
    tool = Interrupted()
    scene = Scene(store, *steps, first=first, others=(tool,))
    tool.scene, tool.event = scene, event
    return scene


async def test_nobody_is_asked_about_a_request_that_was_edited_before(store: Store) -> None:
    """The new words are answered."""
    scene = interrupted(store, edited("e1", "m1", "never mind"), Step("Very well."))
    await scene.say("launch it", "m1")
    assert (scene.harness.box.texts, scene.launch.contexts) == (["Very well."], [])


async def test_a_command_that_came_before_the_question_ends_it(store: Store) -> None:
    """It is not left to wait for the question's deadline."""
    reset = InboundEvent(Message("m2", "user", (Text("/reset"),), WRITTEN_AT, Author("u1")))
    scene = interrupted(store, reset, Step("Not launched."), Step("Hello!"))
    await scene.say("launch it", "m1")
    assert await scene.harness.question() is None
    await scene.say("Hi", "m3")
    assert scene.harness.box.texts[-1] == "Hello!"
    assert await scene.harness.past() == ["/reset", scene.harness.box.texts[-2], "Hi", "Hello!"]


@pytest.mark.parametrize("command", ["/reset", "/forget me"])
async def test_a_command_before_a_stop_is_run(store: Store, command: str) -> None:
    """The stop ends the turn, and the command follows."""
    scene = Scene(store, Step("Hello!"))
    await scene.say("launch it", "m1")
    await scene.accept(command, "m2")
    await scene.say("/stop", "m3")
    await scene.say("Hi", "m4")
    assert "launch it" not in await scene.harness.past()
    assert scene.harness.box.texts[-1] == "Hello!"
