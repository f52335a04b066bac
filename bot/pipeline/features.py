"""The list of features: it calls their hooks, and does their periodic work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from starlette.routing import BaseRoute

from bot.agent.loop import USUAL, Configuration
from bot.agent.turn import ActingCall, ApprovalDecision
from bot.channels import (
    Accept,
    ButtonCard,
    DailyUse,
    Delivery,
    InboundEvent,
    KeptSection,
    Reply,
)
from bot.errors import StoreUnavailable
from bot.pipeline.feature import (
    NOBODY_DECIDES,
    AnsweredTurn,
    CallingTurn,
    Feature,
    MakeStore,
    ParkedTurn,
    RunCommand,
    TurnRequest,
    TurnResult,
    Work,
    rejected,
)
from bot.pipeline.select import ParsedEvent
from bot.store import Erase, Lease, Store
from bot.telemetry.observed import OBSERVER, Observe, ObservedStep
from bot.transcript import SCHEDULED_ID, Message, Spending
from toolset.stores import FindStore

HOOKS = [name for name in vars(Feature) if callable(getattr(Feature, name)) and name[0] != "_"]
log = structlog.stdlib.get_logger(__name__)


class Features:
    """All features, in the order of their registry; a hook that none has costs nothing."""

    def __init__(self) -> None:
        self._by_hook: dict[str, list[Feature]] = {hook: [] for hook in HOOKS}
        self.actions: dict[str, Accept | None] = {}
        self.commands: dict[str, RunCommand] = {}
        self.kept: dict[str, Erase] = {}
        self.shown: set[str] = set()
        self.purged: set[str] = set()
        self.erased: set[str] = set()
        self.unrecorded: set[str] = set()
        self.routes: list[BaseRoute] = []
        self.observers = self._by_hook["observe"]
        self.configurers = self._by_hook["configure"]
        self._every: list[tuple[str, int, Work]] = []
        self._tool_stores: dict[type[Any], MakeStore] = {}

    def install(self, features: Iterable[Feature]) -> None:
        """Take features in; what they need to be made may hold this list already."""
        for feature in features:
            self.actions.update(feature.actions)
            self.commands.update(feature.commands)
            self.kept.update(feature.kept)
            self.shown.update(feature.shown)
            self.purged.update(feature.purged)
            self.erased.update((*feature.purged, *feature.erased))
            self._tool_stores.update(feature.tool_stores)
            self.unrecorded.update(feature.unrecorded)
            self.routes += feature.routes
            for seconds, work in feature.every.items():
                self._every.append((f"{type(feature).__name__} {seconds}", seconds, work))
            for hook, called in self._by_hook.items():
                if getattr(type(feature), hook) is not getattr(Feature, hook):
                    called.append(feature)
        if len(self._by_hook["may_call"]) > 1:
            raise ValueError("two features decide about calls")

    @property
    def deciding(self) -> Feature | None:
        """The one in charge of calls that act."""
        return next(iter(self._by_hook["may_call"]), None)

    async def may_call(self, turn: CallingTurn, acting: ActingCall) -> ApprovalDecision:
        """See ``Feature.may_call``; without a feature in charge each call is rejected."""
        if (deciding := self.deciding) is None:
            return rejected(acting.call.id, NOBODY_DECIDES)
        return await deciding.may_call(turn, acting)

    def services(self, store: Store) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """What runs beside the workers of a process: each ``run``, and all of ``every``."""
        services: list[Callable[[], Coroutine[Any, Any, None]]]
        services = [feature.run for feature in self._by_hook["run"]]
        for name, seconds, work in self._every:
            services.append(partial(repeat, store, name, seconds, work))
        return services

    def find_store(self, request: TurnRequest) -> FindStore:
        """What a turn's tools ask for their stores, see ``Feature.tool_stores``; each is made once
        for the turn."""
        made: dict[type[Any], Any] = {}

        def find(kind: type[Any]) -> Any:
            if kind not in made and kind in self._tool_stores:
                made[kind] = self._tool_stores[kind](request)
            return made.get(kind)

        return find

    @property
    def admits(self) -> bool:
        """Whether one of them limits what is answered."""
        return bool(self._by_hook["admit"])

    def prefetch(self, turn_id: str, conversation: str, author: str) -> None:
        """See ``Feature.prefetch``."""
        for feature in self._by_hook["prefetch"]:
            feature.prefetch(turn_id, conversation, author)

    async def admit(
        self, conversation: str, turn_id: str, batch: Sequence[ParsedEvent], result: TurnResult
    ) -> list[ParsedEvent]:
        """See ``Feature.admit``."""
        for feature in self._by_hook["admit"]:
            batch = await feature.admit(conversation, turn_id, batch, result)
        return list(batch)

    async def admit_joining(
        self, conversation: str, turn_id: str, messages: Sequence[InboundEvent]
    ) -> int:
        """See ``Feature.admit_joining``."""
        number = len(messages)
        for feature in self._by_hook["admit_joining"]:
            number = await feature.admit_joining(conversation, turn_id, messages[:number])
        return number

    async def tokens_left(self, turn_id: str, request: TurnRequest) -> int | None:
        """See ``Feature.tokens_left``."""
        found = [await one.tokens_left(turn_id, request) for one in self._by_hook["tokens_left"]]
        return min((left for left in found if left is not None), default=None)

    def after_response(self, conversation: str, spending: Spending) -> None:
        """See ``Feature.after_response``."""
        for feature in self._by_hook["after_response"]:
            feature.after_response(conversation, spending)

    async def may_use(self, use: DailyUse) -> bool:
        """See ``Feature.may_use``."""
        for feature in self._by_hook["may_use"]:
            if not await feature.may_use(use):
                return False
        return True

    def history_grown(self, conversation: str, size: int) -> None:
        """See ``Feature.history_grown``."""
        for feature in self._by_hook["history_grown"]:
            feature.history_grown(conversation, size)

    async def aclose(self) -> None:
        """See ``Feature.aclose``."""
        for feature in self._by_hook["aclose"]:
            await feature.aclose()

    async def before_model(self, request: TurnRequest, asked: Sequence[Message]) -> list[Message]:
        """See ``Feature.before_model``."""
        found = [
            await feature.before_model(request, asked) for feature in self._by_hook["before_model"]
        ]
        return [message for message in found if message]

    def help(self, conversation: str, language: str) -> list[str]:
        """See ``Feature.help``."""
        lines = (feature.help(conversation, language) for feature in self._by_hook["help"])
        return [line for line in lines if line]

    async def overhear(self, conversation: str, event: InboundEvent) -> bool:
        """See ``Feature.overhear``. What all of them ask the store leaves together."""
        taken = (feature.overhear(conversation, event) for feature in self._by_hook["overhear"])
        return any(await asyncio.gather(*taken))

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult:
        """See ``Feature.answer_overheard``."""
        for feature in self._by_hook["answer_overheard"]:
            if (result := await feature.answer_overheard(conversation, events)) is not None:
                return result
        return TurnResult()

    def greeting(self, key: str, event: InboundEvent) -> list[str]:
        """See ``Feature.greeting``."""
        lines = (feature.greeting(key, event) for feature in self._by_hook["greeting"])
        return [line for line in lines if line]

    async def overheard(self, conversation: str) -> list[Message]:
        """See ``Feature.overheard``."""
        found: list[Message] = []
        for feature in self._by_hook["overheard"]:
            found += await feature.overheard(conversation)
        return found

    async def leave(self, lease: Lease, event: InboundEvent) -> None:
        """See ``Feature.leave``."""
        for feature in self._by_hook["leave"]:
            await feature.leave(lease, event)

    async def begin_with_changes(self, lease: Lease, events: Sequence[InboundEvent]) -> bool:
        """See ``Feature.begin_with_changes``."""
        for feature in self._by_hook["begin_with_changes"]:
            if await feature.begin_with_changes(lease, events):
                return True
        return False

    async def change(
        self,
        lease: Lease,
        edits: Mapping[str, Message | None],
        events: Sequence[InboundEvent] = (),
    ) -> None:
        """See ``Feature.change``."""
        for feature in self._by_hook["change"]:
            await feature.change(lease, edits, events)

    def edit_answer(self, text: str, before: Sequence[Message]) -> str | None:
        """See ``Feature.edit_answer``."""
        edited: str | None = text
        for feature in self._by_hook["edit_answer"]:
            if edited is not None:
                edited = feature.edit_answer(edited, before)
        return edited

    def answer_wordless(self, events: Sequence[InboundEvent], history: Sequence[Message]) -> str:
        """See ``Feature.answer_wordless``."""
        if not events or not all(event.action for event in events):
            return ""
        answers = (
            feature.answer_wordless(events, history) for feature in self._by_hook["answer_wordless"]
        )
        return next(filter(None, answers), "")

    async def receive(
        self, conversation: str, event: InboundEvent, before: Sequence[Message]
    ) -> InboundEvent:
        """See ``Feature.receive``."""
        if event.quotes or event.group:
            for feature in self._by_hook["receive"]:
                event = await feature.receive(conversation, event, before)
        return event

    async def configure(self, conversation: str, event: InboundEvent) -> Configuration:
        """See ``Feature.configure``."""
        found = USUAL
        for feature in self.configurers:
            if (given := await feature.configure(conversation, event)) is not None:
                found = found.then(given)
        return found

    async def read_file(self, person: str, mime: str, data: bytes) -> str:
        """See ``Feature.read_file``."""
        text = ""
        for feature in self._by_hook["read_file"]:
            text = text or await feature.read_file(person, mime, data)
        return text

    def start_observing(self, conversation: str, turn_id: str) -> Observe:
        """Have features observe what is done from now on in this context."""

        def observe(step: ObservedStep) -> None:
            for feature in self.observers:
                feature.observe(conversation, turn_id, step)

        OBSERVER.set(observe)
        return observe

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """See ``Feature.after_answer``."""
        results = [result for message in turn.messages for result in message.results]
        called = {result.name for result in results}
        for feature in self._by_hook["after_answer"]:
            if not feature.after_tools or not called.isdisjoint(feature.after_tools):
                reply = await feature.after_answer(turn, reply)
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """See ``Feature.before_delivery``."""
        if not delivery.reply.replaces:
            return delivery
        for feature in self._by_hook["before_delivery"]:
            prepared = await feature.before_delivery(conversation, delivery)
            if not isinstance(prepared, Delivery):
                return prepared
            delivery = prepared
        return delivery

    def keeps(self, conversation: str, delivery: Delivery) -> bool:
        """See ``Feature.keeps``."""
        return any(feature.keeps(conversation, delivery) for feature in self._by_hook["keeps"])

    async def with_kept(self, conversation: str, delivery: Delivery) -> Delivery | None:
        """See ``Feature.with_kept``."""
        shown: Delivery | None = delivery
        for feature in self._by_hook["with_kept"]:
            if shown is not None:
                shown = await feature.with_kept(conversation, shown)
        return shown

    async def while_waiting(
        self,
        lease: Lease,
        asked: InboundEvent | None = None,
        parked: ParkedTurn | None = None,
    ) -> float | None:
        """See ``Feature.while_waiting``."""
        called = [
            await feature.while_waiting(lease, asked, parked)
            for feature in self._by_hook["while_waiting"]
        ]
        return min((seconds for seconds in called if seconds is not None), default=None)

    async def address_expired(self, lease: Lease, event: InboundEvent, *, private: bool) -> None:
        """See ``Feature.address_expired``."""
        for feature in self._by_hook["address_expired"]:
            await feature.address_expired(lease, event, private=private)

    async def cards(self, conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        """See ``Feature.cards``."""
        found: list[ButtonCard] = []
        for feature in self._by_hook["cards"]:
            found += await feature.cards(conversation, messages)
        return found

    def places(self, conversation: str) -> set[str]:
        """See ``Feature.places``."""
        found: set[str] = set()
        for feature in self._by_hook["places"]:
            found.update(feature.places(conversation))
        return found

    def announce(self, event: InboundEvent, refusal: str = "") -> Reply | None:
        """See ``Feature.announce``."""
        replies = (feature.announce(event, refusal) for feature in self._by_hook["announce"])
        return next((reply for reply in replies if reply), None)

    async def after_turn(
        self, conversation: str, event: InboundEvent, *, failed: bool
    ) -> list[Reply]:
        """See ``Feature.after_turn``."""
        replies = []
        for feature in self._by_hook["after_turn"]:
            if reply := await feature.after_turn(conversation, event, failed=failed):
                replies.append(reply)
        return replies

    async def after_delivery(self, conversation: str, delivery: Delivery, refusal: str) -> None:
        """See ``Feature.after_delivery``."""
        if any(message_id.startswith(SCHEDULED_ID) for message_id in delivery.answers):
            for feature in self._by_hook["after_delivery"]:
                await feature.after_delivery(conversation, delivery, refusal)

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        """See ``Feature.forget_in``."""
        for feature in self._by_hook["forget_in"]:
            await feature.forget_in(conversation, author_id)

    async def overview(self, conversation: str, event: InboundEvent) -> list[KeptSection]:
        """See ``Feature.overview``."""
        found = await asyncio.gather(
            *(feature.overview(conversation, event) for feature in self._by_hook["overview"])
        )
        return [section for section in found if section]

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """See ``Feature.delete_kept``."""
        for feature in self._by_hook["delete_kept"]:
            if await feature.delete_kept(conversation, event, action, key):
                return True
        return False


NO_FEATURES = Features()


async def repeat(store: Store, name: str, seconds: int, work: Work) -> None:
    """Try to do the work periodically; never returns."""
    while True:
        await do_if_due(store, name, seconds, work)
        await asyncio.sleep(seconds)


async def do_if_due(store: Store, name: str, seconds: int, work: Work) -> None:
    """Do the work, unless any process has begun it within these seconds.

    It ends with its period, so that no other process can begin it meanwhile. What fails is tried
    again in the next period.
    """
    try:
        if await store.kv.set_if_absent(f"every:{name}", seconds):
            async with asyncio.timeout(seconds):
                await work()
    except StoreUnavailable as error:
        log.warning("work.postponed", work=name, cause=str(error))
    except Exception:  # other work must go on
        log.exception("work.failed", work=name)
