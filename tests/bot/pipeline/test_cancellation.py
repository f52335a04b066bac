"""/stop: the turn under way ends at once, whole, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import pytest
from redis.asyncio import Redis

from bot.agent.loop import CANCELLED
from bot.channels import STOP, Abilities, InboundEvent
from bot.interrupts import TOPIC, Interrupt, RunningTurns
from bot.pipeline.answer import YOUNG_S
from bot.pipeline.history import read_history
from bot.providers import Restarted, TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Message, encode
from tests.bot.harness import HERE, Harness, Mailbox, words
from tests.bot.pipeline.held_turns import Held, asked, calling, under_way
from tests.fakes.tools import tool_map
from toolset.tool import ToolContext


def button(press_id: str = "s1") -> InboundEvent:
    """Pressed; it says nothing."""
    return InboundEvent(Message(press_id, "user", (), 1_000), event="action", action=STOP)


@pytest.mark.parametrize(
    ("wish", "answer"),
    [(button(), "Stopped."), (InboundEvent(words("s1", "止めて")), "止めました。")],
    ids=["button", "words"],
)
async def test_a_stop_ends_the_call_under_way(
    store: Store, redis: Redis, wish: InboundEvent, answer: str
) -> None:
    """The call has its one result, and what was said before stays said."""
    tool = Held()
    harness = Harness(store, [calling("c1", "held")], tools=tool_map(tool))
    await harness.receive("go", "m1")
    async with under_way(harness, redis, tool.called):
        await harness.arrive(wish)
    assert harness.box.texts == [answer]
    spoken = [
        message
        for message in await read_history(harness.store, HERE)
        if message.text or message.results
    ]
    assert [message.role for message in spoken][:2] == ["user", "tool"]
    assert spoken[1].results[0].response == {"error": CANCELLED}
    assert await store.leases.due(10) == []


class Preparing(Mailbox):
    """Hears something more while it prepares a turn, and takes its time for that."""

    meanwhile: Callable[[], Awaitable[None]]
    takes_s = YOUNG_S * 2

    async def enrich(
        self, conversation: str, events: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        if is_new:
            await self.meanwhile()
            await asyncio.sleep(self.takes_s)
        return list(events)


async def test_a_stop_that_comes_while_a_turn_is_prepared_keeps_the_model_from_being_asked(
    store: Store,
) -> None:
    """There is nothing to be ended at once yet, so it is heard before the first step."""
    box = Preparing()
    harness = Harness(store, [], box)
    box.meanwhile = partial(harness.arrive, button())
    await harness.say("go", "m1")
    assert (box.texts, harness.model.requests) == (["Stopped."], [])


async def test_a_stop_in_the_first_milliseconds_of_a_turn_is_heard(store: Store) -> None:
    """The turn is not tracked yet, and is too young to look into its inbox otherwise."""
    box = Preparing()
    harness = Harness(store, [], box)

    async def stop() -> None:
        await harness.arrive(button())
        harness.runner.interrupts.interrupt(Interrupt(HERE, "s1"))

    box.meanwhile = stop
    box.takes_s = 0.0
    await harness.say("go", "m1")
    assert (box.texts, harness.model.requests) == (["Stopped."], [])


class Streaming(Mailbox):
    """Shows an answer while it is written."""

    abilities = Abilities(streams=True)


@pytest.mark.parametrize(
    ("question", "written", "stored"),
    [
        ("tell me a story", "Once upon a time", "Once upon a time\n\n(Stopped.)"),
        ("お話をして", "昔々", "昔々\n\n（ここで停止しました。）"),
        ("a script", "Here:\n```sh\nls", "Here:\n```sh\nls\n```\n\n(Stopped.)"),
    ],
    ids=["english", "japanese", "open code block"],
)
async def test_what_was_written_before_a_stop_stays_with_a_mark(
    store: Store, redis: Redis, question: str, written: str, stored: str
) -> None:
    """People have read it: it is the answer, in the history and in the next request to the
    model."""
    step = Step(
        before=(TextDelta("void"), Restarted(), TextDelta(written)),
        gate=asyncio.Event(),
        gate_after=3,
    )
    harness = Harness(store, [step, Step("Yes.")], Streaming())
    await harness.receive(question, "m1")
    async with under_way(harness, redis, step.at_gate):
        await harness.arrive(button())
    assert harness.box.texts == [stored]
    assert await harness.past() == [question, stored]
    await harness.say("go on", "m2")
    assert asked(harness) == [("user", question), ("model", stored), ("user", "go on")]


async def test_where_nothing_is_shown_of_an_answer_nothing_stays_of_it(
    store: Store, redis: Redis
) -> None:
    """Nobody has read a word of it, and whoever stopped it wants none."""
    step = Step(before=(TextDelta("Once upon"),), gate=asyncio.Event(), gate_after=1)
    harness = Harness(store, [step])
    await harness.receive("tell me a story", "m1")
    async with under_way(harness, redis, step.at_gate):
        await harness.arrive(button())
    assert harness.box.texts == ["Stopped."]


class Unwinding(Held):
    """Needs its time to end when it is cancelled."""

    name: ClassVar[str] = "unwinding"

    def __init__(self) -> None:
        super().__init__()
        self.cancelled, self.may_end = asyncio.Event(), asyncio.Event()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        try:
            return await super().call(arguments, context)
        finally:
            self.cancelled.set()
            await self.may_end.wait()


async def test_a_second_stop_while_the_first_takes_effect_ends_no_listener(
    store: Store, redis: Redis
) -> None:
    """Whoever is impatient presses again; the next turn can still be stopped."""
    slow, next_tool = Unwinding(), Held()
    harness = Harness(
        store, [calling("c1", "unwinding"), calling("c2", "held")], tools=tool_map(slow, next_tool)
    )
    await harness.receive("go", "m1")
    async with under_way(harness, redis, slow.called) as attending:
        await harness.arrive(button("s1"))
        await slow.cancelled.wait()
        await harness.arrive(button("s2"))
        async with store.live.subscribe(
            TOPIC
        ) as reported:  # what is told now comes after what was told before
            await store.live.publish(TOPIC, encode(Interrupt("mailbox:another", "s9")))
            await anext(reported)
        slow.may_end.set()
        await attending
        await harness.receive("again", "m2")
        attending = asyncio.create_task(harness.process())
        await next_tool.called.wait()
        await harness.arrive(button("s3"))
        await attending
    assert harness.box.texts[0] == harness.box.texts[-1] == "Stopped."


async def test_a_stop_that_found_no_turn_is_forgotten_after_a_while(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one tidies up; what is younger stays, once."""
    running = RunningTurns(store)
    for conversation in ("one", "two", "one"):
        running.interrupt(Interrupt(conversation, "s1"))
    assert [running.take_missed(conversation) for conversation in ("one", "one")] == [
        True,
        False,
    ]
    monkeypatch.setattr("bot.interrupts.MISSED_S", 1e-9)
    running.interrupt(Interrupt("three", "s1"))
    assert [running.take_missed(conversation) for conversation in ("two", "three")] == [
        False,
        True,
    ]
