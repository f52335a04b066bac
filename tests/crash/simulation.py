"""A conversation whose process dies at a chosen request to the store, and the process that comes
after it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

from msgspec.structs import replace as replaced

from bot.channels import Abilities, AssertLease, Delivery, InboundEvent
from bot.errors import DeliverLater, DeliveryRefused, StoreUnavailable
from bot.features.approvals.answers import DECISIONS
from bot.interrupts import TOPIC
from bot.pipeline.accept import Intake
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.store.leases import LEASE_MS
from bot.transcript import Message, Opaque
from tests.bot.features.approvals.reviewing import named
from tests.bot.harness import Harness, Mailbox
from tests.bot.store.turns import key
from tests.crash.rig import Called, CrashRig, Lookup
from tests.fakes.cut_wire import REOPEN, Cut, CutWire, finish

Think = Callable[[Sequence[Message]], Step]
Meanwhile = tuple[str, InboundEvent]

LIFE_S = 20.0  # far longer than any of them lives
NEVER = Cut()
TOGETHER = "together"  # with what has come before
VISITS = 5  # more than any conversation here needs until nothing is left to do
BY_MODEL = Opaque("scripted", "scripted", b"")  # tells the model's words from our own sentences


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens in a conversation.

    Attributes:
        spoken: waits for the process that dies.
        think: the model.
        earlier: was answered before.
        during: comes in while somebody attends, one after the other, each as soon as a request of
            this name has been carried out; ``asked``: a question is known to have been delivered;
            ``call``: a tool is being called; ``written``: the model has written its answer, which
            is not committed yet.
        afterwards: comes in between the death and the take-over.
        busy: how often the platform says that it is busy.
        is_mute: the platform takes no questions.
        deletes: the platform deletes what it has shown.
        votes: of each reviewer, about every call.
    """

    spoken: tuple[InboundEvent, ...]
    think: Think
    earlier: tuple[InboundEvent, ...] = ()
    during: tuple[Meanwhile, ...] = ()
    afterwards: tuple[InboundEvent, ...] = ()
    busy: int = 0
    is_mute: bool = False
    deletes: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    votes: tuple[Step, ...] = ()


@dataclass(slots=True)
class Platform:
    """The chat platform, which a process that dies leaves as it is.

    Attributes:
        busy: the platform's next answers, before it takes a delivery.
        sent: deliveries in the order the platform got them, repetitions included.
        sent_by_the_dead: deliveries that came from a process after its death.
    """

    busy: list[Exception]
    sent: list[Delivery] = field(default_factory=list)
    sent_by_the_dead: list[Delivery] = field(default_factory=list)


class Process(Mailbox):
    """A process, as seen from its ends: what it sends, asks and calls.

    Attributes:
        requests: its requests to the store, by name.
        called: the calls made in its time.
    """

    def __init__(self, conversation: Conversation, store: Store, wire: CutWire) -> None:
        super().__init__()
        self.failures = conversation.platform.busy
        self.requests = wire.requests
        self.called: list[int] = []
        self._wire = wire
        self._platform = conversation.platform
        self._continue = conversation.rig.reported[conversation.name]
        self._scenario = scenario = conversation.scenario
        self.abilities = Abilities(deletes=scenario.deletes)

        def answer(messages: Sequence[Message]) -> Step:
            return replace(scenario.think(messages), opaque=BY_MODEL)

        jury = named(*(Scripted([vote] * 20) for vote in scenario.votes))
        self.harness = Harness(
            store, [answer] * 20, self, conversation.rig.tools, scenario.settings, other_models=jury
        )

    @asynccontextmanager
    async def live_view(self, conversation: str, address: str) -> AsyncIterator[Mailbox]:
        async with super().live_view(conversation, address) as watcher:
            yield watcher
        await self._continue("written")

    @property
    def is_dead(self) -> bool:
        """Nothing it does now may be of any effect."""
        return self._wire.is_cut.is_set()

    @property
    def asked(self) -> int:
        """How often it has asked the model."""
        return len(self.harness.model.requests)

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        if self._scenario.is_mute and delivery.reply.awaited:
            raise DeliveryRefused("no questions here")
        shown_at = await super().deliver(conversation, delivery, assert_lease)
        (self._platform.sent_by_the_dead if self.is_dead else self._platform.sent).append(delivery)
        return shown_at


class Conversation:
    """One conversation on a real store.

    Attributes:
        to_come: what will come in, and after what; at first nothing.
        void: the model's answers that a change has made void.
    """

    def __init__(self, name: str, scenario: Scenario, rig: CrashRig) -> None:
        self.name = name
        self.scenario = scenario
        self.rig = rig
        self.platform = Platform([DeliverLater("busy", after=0) for _ in range(scenario.busy)])
        self.to_come: list[Meanwhile] = []
        self.void = 0
        self.redis = rig.redis
        rig.reported[name] = self._continue

    @property
    def called(self) -> list[Called]:
        """The tool calls made so far."""
        return [call for call in self.rig.called if call.conversation == self.name]

    @property
    def marked_twice(self) -> list[int]:
        """Those that were made twice though that leaves two traces."""
        marks = [call.n for call in self.called if call.tool != Lookup.name]
        return sorted(n for n, times in Counter(marks).items() if times > 1)

    @property
    def question(self) -> str:
        """The id of the newest question that people have seen."""
        ids = [one.reply.awaited for one in self.platform.sent if one.reply.awaited]
        return ids[-1] if ids else ""

    async def receive(self, *events: InboundEvent) -> None:
        """Take messages in, as a web process does that stays alive; a decision is about the newest
        question."""
        for event in events:
            about = replaced(event, target=self.question) if event.action in DECISIONS else event
            assert await self.rig.accept(self.name, about)

    async def knock(self, event: InboundEvent, cut: Cut) -> list[str]:
        """Bring a message to a process that dies, before it begins at the latest; its requests."""
        wire = CutWire(self.rig.server, cut, self._continue)
        async with wire.open(self.rig.store.live) as store:

            def die(_conversation: str, _author: str) -> None:
                wire.is_cut.set()

            accept = Intake(replace(self.rig.services, store=store, start=die))
            await _until_death(wire, accept(self.name, event))
        return wire.requests

    async def process(self, cut: Cut = NEVER) -> Process:
        """Let a process process until nothing is left to do, or until it dies."""
        called_before = len(self.called)
        wire = CutWire(self.rig.server, cut, self._continue)
        async with wire.open(self.rig.store.live) as store:
            process = Process(self, store, wire)
            await _until_death(wire, self._live(process))
        process.called = [call.n for call in self.called[called_before:]]
        return process

    async def expire(self) -> None:
        """Let the lease's time pass."""
        await self.redis.pexpire(key("lease", self.name), 0)

    async def due_at(self) -> float | None:
        """When somebody shall process, milliseconds since the epoch; None: nobody needs to."""
        return await self.redis.zscore(key("due", self.name), self.name)

    async def will_be_found(self) -> bool:
        """Whether the due index brings the conversation back, when its lease is over at the latest,
        if it has to."""
        keys = [key(kind, self.name) for kind in ("inbox", "journal", "outbox")]
        if not await self.redis.exists(*keys):
            return True
        at = await self.due_at()
        return at is not None and at <= await self.rig.store.now_ms() + LEASE_MS

    async def frames(self, kind: str) -> list[bytes]:
        """One of the conversation's lists."""
        return cast(list[bytes], await self.redis.lrange(key(kind, self.name), 0, -1))

    async def _live(self, process: Process) -> None:
        async with (
            process.harness.runner.interrupts.listen(),
            self.rig.store.live.subscribe(TOPIC),
        ):
            for _ in range(VISITS):
                if await self.due_at() is not None:
                    await process.harness.runner.process(self.name)

    async def _continue(self, done: str) -> None:
        """What happens meanwhile; people do not stop where the process dies."""
        await finish(self._go_on(done))

    async def _go_on(self, done: str) -> None:
        if done == "take_head" and self.platform.sent and self.platform.sent[-1].reply.awaited:
            done = "asked"
        if self.to_come and self.to_come[0][0] == done:
            _, event = self.to_come.pop(0)
            await self.receive(event)
            self.void += done == "written"
            while self.to_come and self.to_come[0][0] == TOGETHER:
                _, event = self.to_come.pop(0)
                await self.receive(event)
        is_deleted = done == "rewrite" and self.scenario.deletes
        self.void += done == REOPEN or is_deleted


async def _until_death(wire: CutWire, life: Coroutine[Any, Any, object]) -> None:
    """Let something live until its wire is cut, and not for longer."""
    living, death = asyncio.create_task(life), asyncio.create_task(wire.is_cut.wait())
    await asyncio.wait((living, death), timeout=LIFE_S, return_when=asyncio.FIRST_COMPLETED)
    death.cancel()
    if not wire.is_cut.is_set():
        assert living.done(), wire.requests[-20:]
        await living
        return
    living.cancel()
    wire.drop()
    with suppress(asyncio.CancelledError, StoreUnavailable):
        await living
