"""The hooks of features: only those that one overrides are called, in the order of the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import copy_context
from functools import partial

import structlog
from msgspec.structs import replace
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bot.agent.loop import Configuration
from bot.channels import Delivery, InboundEvent, Reply
from bot.commands import SpokenCommands
from bot.errors import StoreUnavailable
from bot.pipeline.feature import AnsweredTurn, Feature, Outgoing, TurnRequest, TurnResult
from bot.pipeline.select import parse, triage
from bot.pipeline.services import Features, Services
from bot.providers.scripted import Step
from bot.store import Lease, Store
from bot.tasks import run_beside
from bot.telemetry.observed import EventTaken, EventUse, Observe, ObservedStep
from bot.transcript import Author, Message, encode
from bot.worker import beside_workers, do_if_due
from tests.bot.harness import HERE, Harness, MakeFeature, texts, words
from tests.waiting import until

LEASE = Lease(HERE, 1, "token")
ANSWER = Delivery("d1", "t1", Reply("Hello", replaces="card"))
REQUEST = TurnRequest(HERE, InboundEvent(words("m1", "Hello")), Author("u1"))


def made(*features: Feature) -> list[MakeFeature]:
    """What makes these features."""
    return [partial(_given, feature) for feature in features]


def _given(feature: Feature, _services: Services) -> Feature:
    return feature


def features_of(*features: Feature) -> Features:
    """A list of these features."""
    listed = Features()
    listed.install(features)
    return listed


class Signs(Feature):
    """Signs each answer."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        return replace(reply, text=f"{reply.text} {self._name}")


class Holds(Feature):
    """Lets no delivery pass."""

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        return 2**52


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

    def add_line(self, key: str, conversation: str, event: InboundEvent) -> str:
        return f"{key} {self.word}"


async def test_all_features_overhear_and_one_answers(store: Store) -> None:
    """A message is taken by a turn where one of them wants it; /help has a line of each."""
    one, other = Overhears("Hello"), Overhears("Bye")
    harness = Harness(store, [], features=made(one, Feature(), other))
    await harness.arrive(InboundEvent(words("m1", "Bye"), group=True, unmentioned=True))
    assert not await harness.intake(HERE, InboundEvent(words("m2", "Hm"), unmentioned=True))
    assert (one.heard, other.heard) == (["Bye", "Hm"], ["Bye", "Hm"])
    await harness.process()
    await harness.say("/help", "m3")
    said, help_lines = harness.box.texts
    assert said == "Bye"
    assert "\ncommand.help Hello\ncommand.help Bye" in help_lines


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


async def test_what_features_keep_of_messages_is_one_list_and_changes_reach_each() -> None:
    """In the order of the registry."""
    one, other = Keeps("one"), Keeps("other")
    features = features_of(one, Feature(), other)
    assert [message.id for message in await features.overheard(HERE)] == ["one", "other"]
    await features.each(Feature.change, LEASE, {"m1": None}, ())
    assert (one.changed, other.changed) == (["m1"], ["m1"])
    assert (features.purged, features.erased) == ({"kept"}, {"kept", "more"})


async def test_an_answer_of_which_features_leave_nothing_is_not_sent(store: Store) -> None:
    """Each takes its word out."""
    steps = [Step("one, other"), Step("one")]
    harness = Harness(store, steps, features=made(Keeps("one"), Keeps("other")))
    for message_id in ("m1", "m2"):
        await harness.say("Hello", message_id)
    assert harness.box.texts == [", "]


async def test_a_later_feature_sees_what_an_earlier_one_has_made(store: Store) -> None:
    """The registry's order counts."""
    harness = Harness(store, [Step("Hello")], features=made(Signs("one"), Signs("two"), Counts()))
    await harness.say("Hi", "m1")
    await store.outbox.post(HERE, ANSWER.id, encode(ANSWER))
    await harness.process()
    assert harness.box.texts == ["Hello one two", "Hello"]


async def test_what_a_feature_holds_back_reaches_no_later_one(store: Store) -> None:
    """A time, or nothing at all, is the outcome."""
    before, after = Counts(), Counts()
    harness = Harness(store, [], features=made(before, Holds(), after))
    await store.outbox.post(HERE, ANSWER.id, encode(ANSWER))
    await harness.process()
    assert (before.seen, after.seen, harness.box.texts) == ([ANSWER], [], [])


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
            features = features_of(feature)
            assert features.routes == feature.routes
            for service in beside_workers(features, store):
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


async def test_a_later_feature_adds_to_what_an_earlier_one_configures(store: Store) -> None:
    """Where none has anything, all is as usual."""
    personas = Persona(HERE, "One."), Persona("there", "Two."), Persona(HERE, "Three.")
    for features, system in ((personas, "SYSTEM\n\nOne.\n\nThree."), (personas[1:2], "SYSTEM")):
        harness = Harness(store, [Step("Hello")], features=made(*features))
        await harness.say("Hi", f"m{len(features)}")
        assert harness.model.requests[-1].system == f"{system}\n\nSTYLE"


class Sees(Feature):
    """Observes all turns."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, ObservedStep]] = []

    def observer(self, conversation: str, turn_id: str) -> Observe:
        return lambda step: self.seen.append((conversation, turn_id, step))


def test_an_observer_sees_what_becomes_of_each_event() -> None:
    """Only where a feature observes."""
    one, other = Sees(), Sees()
    features = features_of(one, other)
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
    for installed in ([], [Feature()]):
        features = features_of(*installed)
        assert features.find_store(REQUEST)(Feature) is None
        assert await features.answer_overheard(HERE, [REQUEST.event]) == TurnResult()
        assert (features.actions, features.commands, features.kept) == ({}, {}, {})
        assert (await features.overheard(HERE), features.hooks(Feature.leave)) == ([], [])
        assert await features.overview(HERE, REQUEST.event) == []
        assert features.announce(REQUEST.event) is None
        assert (features.routes, beside_workers(features, store)) == ([], [])
        assert not await features.delete_kept(HERE, REQUEST.event, "delete", "1")
        harness = Harness(store, [Step("Hello")], features=made(*installed))
        await harness.say("Hi", f"m{len(installed)}")
        assert harness.box.texts == ["Hello"]
        assert not await harness.intake(HERE, InboundEvent(words("m0", "Hm"), unmentioned=True))
