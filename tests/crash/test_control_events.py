"""Two events that steer a turn, in any order, around any of its steps: what comes next is
answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import product, takewhile

import pytest
from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.transcript import Author, Message, ToolCall
from tests.bot.harness import WRITTEN_AT
from tests.bot.store.turns import key
from tests.crash.driver import at_each
from tests.crash.evidence import PASSING
from tests.crash.rig import CrashRig
from tests.crash.scenarios import TOKYO, answers, edits, presses, says, takes_back
from tests.crash.simulation import NEVER, TOGETHER, Conversation, Meanwhile, Process, Scenario
from tests.fakes.cut_wire import Cut

OLD, NEW, HELLO = TOKYO.message.text, "Kyoto?", "Hello!"
AFTERWARDS = "afterwards"
# Within which a new message must have its answer.
ANSWERED_S = 10

MAKES: dict[str, Callable[[str], InboundEvent]] = {
    "stop": lambda event_id: says(event_id, "/stop"),
    "edit": lambda event_id: edits(event_id, NEW, TOKYO.message.id),
    "deletion": lambda event_id: takes_back(event_id, TOKYO.message.id),
    "press": presses,
    "yes": lambda event_id: says(event_id, "yes"),
    "reset": lambda event_id: says(event_id, "/reset"),
    "forget": lambda event_id: says(event_id, "/forget me"),
    "leave": lambda event_id: replace(says(event_id, ""), event="left"),
    "message": lambda event_id: says(event_id, "And Osaka?"),
}
PAIRS = list(product(MAKES, repeat=2))
ERASES = ("deletion", "reset", "forget", "leave")  # of these, nothing may be left of the request

# When the first comes, and the second. "record" is, with a question open, the record of what
# decides it.
MOMENTS = (
    ("call", TOGETHER),
    ("call", "asked"),
    ("asked", TOGETHER),
    ("asked", "record"),
    ("asked", AFTERWARDS),
    ("record", TOGETHER),
    ("record", "join"),
    ("record", "written"),
    ("written", TOGETHER),
    ("written", "commit"),
    ("commit", TOGETHER),
    (AFTERWARDS, TOGETHER),
)
NEED_APPROVAL = ("record", "written", "commit", AFTERWARDS)  # of a press before them


def think(messages: Sequence[Message]) -> Step:
    """A look-up, then a call that acts, once for each wording of the request; then an answer to all
    that was said."""
    since = list(takewhile(lambda message: not message.is_answer, reversed(messages)))
    spoken = [message.text for message in since if message.role == "user"]
    done = [(call.name, call.arguments["n"]) for message in messages for call in message.calls]
    n = 1 if OLD in spoken else 2 if NEW in spoken else 0
    wanted = [("lookup", 0), ("launch", n)] if n else []
    calls = [
        ToolCall("", tool, {"n": number}) for tool, number in wanted if (tool, number) not in done
    ]
    return Step(calls=tuple(calls[:1])) if calls else answers(messages)


def schedule(pair: tuple[str, str], moments: tuple[str, str]) -> tuple[Meanwhile, ...]:
    """What comes in, and when."""
    made = [MAKES[name](f"e{number}") for number, name in enumerate(pair, 1)]
    later = [
        replace(event, message=replace(event.message, at=WRITTEN_AT + n))
        for n, event in enumerate(made, 1)
    ]
    first = [("asked", presses("p0"))] if moments[0] in NEED_APPROVAL else []
    return (*first, *zip(moments, later, strict=True))


class Private(Conversation):
    """A conversation of somebody who takes part in no other.

    Attributes:
        words_gone: of the request, changed or taken back.
        lives: each process, with the words that were gone when it began.
    """

    def __init__(self, name: str, scenario: Scenario, rig: CrashRig) -> None:
        super().__init__(name, scenario, rig)
        self.words_gone: set[str] = set()
        self.lives: list[tuple[Process, frozenset[str]]] = []

    async def receive(self, *events: InboundEvent) -> None:
        author = Author(f"u_{self.name}")
        for event in events:
            await super().receive(replace(event, message=replace(event.message, author=author)))
            if event.event == "edited":
                self.words_gone.add(OLD)
            elif event.event == "unsent":
                self.words_gone |= {OLD, NEW}

    async def process(self, cut: Cut = NEVER) -> Process:
        gone = frozenset(self.words_gone)
        process = await super().process(cut)
        self.lives.append((process, gone))
        return process


async def last_words(conversation: Conversation) -> Process:
    """What has not come in yet does, then a new message; a process that lives sees to all of it."""
    if await conversation.due_at() is not None:
        await conversation.process()
    while conversation.to_come:
        _, event = conversation.to_come.pop(0)
        await conversation.receive(event)
        if not (conversation.to_come and conversation.to_come[0][0] == TOGETHER):
            await conversation.process()
    async with asyncio.timeout(ANSWERED_S):
        await conversation.receive(says("hello", HELLO))
        return await conversation.process()


async def check(conversation: Private, pair: tuple[str, str], last: Process) -> None:
    """The new message is answered, nothing waits, no turn was given up, and what was taken back or
    worded anew is gone: no process that began later has sent it to the model, or to people."""
    where = f"{conversation.name} {pair}"
    answers_of_model = [one.reply.text for one in last.delivered if "hello" in one.answers]
    assert answers_of_model, where
    assert HELLO in answers_of_model[-1], where
    left = [
        kind for kind in PASSING if await conversation.redis.exists(key(kind, conversation.name))
    ]
    assert left == [], where
    words = [message.text for message in last.harness.model.requests[-1].messages]
    if {"edit", *ERASES} & {*pair}:
        assert OLD not in words, where
    if {*ERASES} & {*pair}:
        assert NEW not in words, where
    for process, gone in conversation.lives:
        requests = process.harness.model.requests
        asked = [message.text for request in requests for message in request.messages]
        shown = [delivery.reply.text for delivery in process.delivered]
        assert [one.reply.text for one in process.delivered if one.reply.failure] == [], where
        assert [word for word in gone if word in asked] == [], where
        assert [text for text in shown if any(word in text for word in gone)] == [], where


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
async def test_two_events_leave_nobody_without_an_answer(
    pair: tuple[str, str], rig: CrashRig
) -> None:
    """Whatever they are, and wherever in the turn they come."""

    async def plays(number: int) -> bool:
        moments = MOMENTS[number]
        scenario = Scenario((), think, during=schedule(pair, moments))
        name = f"mailbox:{' '.join((*pair, *moments))}"
        conversation = Private(name, scenario, rig)
        await conversation.receive(TOKYO)
        conversation.to_come = list(scenario.during)
        await conversation.process()
        # Two messages end nothing early, so every moment of their turn comes.
        if pair == ("message", "message") and AFTERWARDS not in moments:
            assert conversation.to_come == [], name
        await check(conversation, pair, await last_words(conversation))
        return True

    assert all(await at_each(range(len(MOMENTS)), plays))
