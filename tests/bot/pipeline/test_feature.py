"""The hooks of features: only those that one overrides are called, in the order of the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import copy_context

import structlog
from msgspec.structs import replace
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.agent.loop import USUAL, Configuration
from bot.channels import Delivery, InboundEvent, Reply
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.pipeline.feature import AnsweredTurn, Feature, Outgoing, TurnRequest, TurnResult
from bot.pipeline.features import Features, do_if_due
from bot.pipeline.select import parse, triage
from bot.store import Lease, Store
from bot.tasks import run_beside
from bot.telemetry.observed import EventTaken, EventUse, ObservedStep
from bot.transcript import Author, Message, ToolResult
from tests.bot.harness import HERE, texts, words
from tests.waiting import until

LEASE = Lease(HERE, "token", 1)
REQUEST = TurnRequest(HERE, InboundEvent(words("m1", "Hello")), Author("u1"))
TURN = AnsweredTurn(HERE, "t1", ())
ANSWER = Delivery("d1", "t1", Reply("Hello", replaces="card"))


class Signs(Feature):
    """Signs each answer."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        return replace(reply, text=f"{reply.text} {self._name}")


class SignsLooks(Signs):
    """Signs the answers of turns with a call of its tool."""

    after_tools = ("look",)


class Holds(Feature):
    """Lets no delivery pass."""

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        return 5


class Counts(Feature):
    """Remembers what came to it."""

    def __init__(self) -> None:
        self.seen: list[Delivery] = []

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        self.seen.append(delivery)
        return delivery


class Overhears(Feature):
    """Answers messages that hold its word, in turns of its own."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.heard: list[str] = []

    async def overhear(self, conversation: str, event: InboundEvent) -> bool:
        self.heard.append(event.message.text)
        return self.word in event.message.text

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult | None:
        texts = [event.message.text for event in events if self.word in event.message.text]
        return TurnResult(replies=[Outgoing(Reply(text), "") for text in texts]) if texts else None

    def help(self, conversation: str, language: str) -> str:
        return self.word


async def test_all_features_overhear_and_one_answers() -> None:
    """A message is taken by a turn where one of them wants it; /help has a line of each."""
    one, other = Overhears("Hello"), Overhears("Bye")
    features = Features()
    features.install([one, Overhears(""), other])
    event = InboundEvent(words("m1", "Bye"), unmentioned=True)
    assert await features.overhear(HERE, event)
    assert (one.heard, other.heard) == (["Bye"], ["Bye"])
    found = await features.answer_overheard(HERE, [event])
    assert [one.reply.text for one in found.replies] == ["Bye"]
    assert features.help(HERE, "en") == ["Hello", "Bye"]


class Keeps(Feature):
    """Keeps one message, and has its word taken out of answers."""

    purged, erased = ("kept",), ("more",)

    def __init__(self, word: str) -> None:
        self.word = word
        self.changed: list[str] = []

    async def overheard(self, conversation: str) -> list[Message]:
        return [words(self.word, self.word)]

    async def change(
        self, lease: Lease, edits: Mapping[str, Message | None], events: Sequence[InboundEvent]
    ) -> None:
        self.changed += edits

    def edit_answer(self, text: str, before: Sequence[Message]) -> str | None:
        return text.replace(self.word, "") or None

    def greeting(self, key: str, event: InboundEvent) -> str:
        return f"{key} {self.word}"


async def test_what_features_keep_of_messages_is_one_list_and_changes_reach_each() -> None:
    """An answer of which nothing is left is not sent; a greeting has a line of each."""
    one, other = Keeps("one"), Keeps("other")
    features = Features()
    features.install([one, other])
    assert [message.id for message in await features.overheard(HERE)] == ["one", "other"]
    await features.change(LEASE, {"m1": None})
    assert (one.changed, other.changed) == (["m1"], ["m1"])
    assert features.edit_answer("one, other", []) == ", "
    assert features.edit_answer("one", []) is None
    assert features.greeting("hi", REQUEST.event) == ["hi one", "hi other"]
    assert (features.purged, features.erased) == ({"kept"}, {"kept", "more"})


async def test_a_later_feature_sees_what_an_earlier_one_has_made() -> None:
    """The registry's order counts."""
    features = Features()
    features.install([Signs("one"), Signs("two"), Counts()])
    assert (await features.after_answer(TURN, Reply("Hello"))).text == "Hello one two"
    assert await features.before_delivery(HERE, ANSWER) is ANSWER


async def test_a_feature_sees_the_answers_after_its_tools_alone() -> None:
    """Where it names any."""
    features = Features()
    features.install([SignsLooks("one")])
    call = Message("m2", "tool", (ToolResult("c1", "look", {}),), 1)
    assert (await features.after_answer(TURN, Reply("Hello"))).text == "Hello"
    looked = TURN._replace(messages=(call,))
    assert (await features.after_answer(looked, Reply("Hello"))).text == "Hello one"


async def test_what_a_feature_holds_back_reaches_no_later_one() -> None:
    """A time, or nothing at all, is the outcome."""
    features, before, after = Features(), Counts(), Counts()
    features.install([before, Holds(), after])
    assert await features.before_delivery(HERE, ANSWER) == 5
    assert (before.seen, after.seen) == ([ANSWER], [])


class Reports(Feature):
    """Has a page, and work of its own."""

    def __init__(self) -> None:
        self.routes = [Route("/report", PlainTextResponse("report"))]
        self.every = {3_600: self._work, 60: self._work}
        self.times = 0

    async def _work(self) -> None:
        self.times += 1

    async def run(self) -> None:
        self.times += 1


async def test_periodic_work_is_done_by_one_process_and_a_run_by_each(store: Store) -> None:
    """Two processes start at once; a route is there in both."""
    one, other = Reports(), Reports()
    async with AsyncExitStack() as stack:
        for feature in (one, other):
            features = Features()
            features.install([feature])
            assert features.routes == feature.routes
            for service in features.services(store):
                await stack.enter_async_context(run_beside(service()))
        await until(lambda: one.times + other.times == 4)
    assert (one.times > 0, other.times > 0) == (True, True)


async def test_work_that_fails_or_takes_too_long_keeps_no_other_from_coming(store: Store) -> None:
    """It is tried again in the next period, also where the store is away."""

    async def fail() -> None:
        raise ValueError

    async def take_long() -> None:
        await asyncio.Event().wait()

    async def find_no_store() -> None:
        raise StoreUnavailable("away")

    with structlog.testing.capture_logs() as lines:
        for name, work in (("a", fail), ("b", take_long), ("c", find_no_store), ("c", fail)):
            await do_if_due(store, name, 1, work)
    assert [(line["event"], line["work"]) for line in lines] == [
        ("work.failed", "a"),
        ("work.failed", "b"),
        ("work.postponed", "c"),
    ]


class Persona(Feature):
    """Has one in its place."""

    def __init__(self, place: str, persona: str) -> None:
        self._place, self._persona = place, persona

    async def configure(self, conversation: str, event: InboundEvent) -> Configuration | None:
        return Configuration(self._persona) if conversation == self._place else None


async def test_a_later_feature_adds_to_what_an_earlier_one_configures() -> None:
    """Where none has anything, all is as usual."""
    features = Features()
    features.install([Persona(HERE, "One."), Persona("there", "Two."), Persona(HERE, "Three.")])
    found = await features.configure(HERE, REQUEST.event)
    assert found == Configuration("One.\n\nThree.")
    assert await features.configure("elsewhere", REQUEST.event) is USUAL


class Sees(Feature):
    """Observes all turns."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, ObservedStep]] = []

    def observe(self, conversation: str, turn_id: str, step: ObservedStep) -> None:
        self.seen.append((conversation, turn_id, step))


def test_an_observer_sees_what_becomes_of_each_event() -> None:
    """Only where a feature observes."""
    features, one, other = Features(), Sees(), Sees()
    features.install([one, other])
    events = [
        InboundEvent(words("m1", "Hello")),
        InboundEvent(words("m2", "/stop")),
        InboundEvent(words("m3", "Hello")),
        InboundEvent(words("m4", "Bye"), event="edited", target="m0"),
        InboundEvent(words("m5", ""), event="canned", target="apology.left_out"),
        InboundEvent(words("m6", ""), event="members_left", target="u2"),
    ]
    batch = [parse(event, SpokenCommands(texts())) for event in events]

    def observed() -> None:
        features.start_observing(HERE, "t1")
        triage(batch)

    copy_context().run(observed)
    triage(batch)
    assert one.seen == other.seen
    uses: list[EventUse] = ["superseded", "command", "answered", "changes", "canned", "left"]
    taken = [EventTaken(one.message, one.event, use) for one, use in zip(events, uses, strict=True)]
    assert one.seen == [(HERE, "t1", step) for step in taken]


async def test_without_features_everything_stays_as_it_is(store: Store) -> None:
    """Nor does a feature matter that overrides nothing."""
    for installed in ((), (Feature(),)):
        features = Features()
        features.install(installed)
        assert features.find_store(REQUEST)(Feature) is None
        assert await features.after_answer(TURN, ANSWER.reply) is ANSWER.reply
        assert await features.before_delivery(HERE, ANSWER) is ANSWER
        assert (await features.cards(HERE, []), features.places(HERE)) == ([], set())
        assert not await features.overhear(HERE, REQUEST.event)
        assert await features.answer_overheard(HERE, [REQUEST.event]) == TurnResult()
        assert features.help(HERE, "en") == []
        assert (await features.overheard(HERE), features.greeting("hi", REQUEST.event)) == ([], [])
        assert features.edit_answer("Hello", []) == "Hello"
        await features.change(LEASE, {})
        assert not await features.begin_with_changes(LEASE, [REQUEST.event])
        assert await features.receive(HERE, REQUEST.event, []) is REQUEST.event
        assert (features.actions, features.commands, features.kept) == ({}, {}, {})
        assert await features.before_model(REQUEST, []) == []
        assert await features.overview(HERE, REQUEST.event) == []
        assert features.announce(REQUEST.event) is None
        assert await features.after_turn(HERE, REQUEST.event, failed=True) == []
        assert (features.observers, features.configurers) == ([], [])
        assert (features.routes, features.services(store)) == ([], [])
        assert not await features.delete_kept(HERE, REQUEST.event, "delete", "1")
        assert features.unrecorded == set()
