"""What a feature is to the pipeline, and the list that calls its hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from bot.channels import Accept, ButtonCard, Delivery, InboundEvent, KeptSection, Reply
from bot.store import Erase, Lease
from bot.transcript import Author, Message
from toolset.stores import FindStore

NO_ACTIONS: Mapping[str, Accept] = MappingProxyType({})
NOTHING_KEPT: Mapping[str, Erase] = MappingProxyType({})
NO_STORES: Mapping[type[Any], Any] = MappingProxyType({})


class TurnRequest(NamedTuple):
    """Whom a turn answers: the author of its newest message, in a conversation."""

    conversation: str
    event: InboundEvent
    author: Author


MakeStore = Callable[[TurnRequest], Any]


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The event that holds a command, and where it came from.

    Attributes:
        ends_turn: the messages before the command are not answered.
    """

    lease: Lease
    event: InboundEvent
    ends_turn: bool


RunCommand = Callable[[CommandContext], Awaitable[Reply]]
NO_COMMANDS: Mapping[str, RunCommand] = MappingProxyType({})


class Outgoing(NamedTuple):
    """A reply and where it goes.

    Attributes:
        asker: id of the person whose reminder it is; empty for an answer, which is for whom the
            turn answers.
        deletes: nothing is said: what the turn has streamed is deleted.
    """

    reply: Reply
    address: str
    asker: str = ""
    deletes: bool = False


@dataclass(slots=True)
class TurnResult:
    """What a turn commits.

    Attributes:
        messages: for the history.
        replies: what is sent.
        model: the one that answered.
        may_be_reopened: all that is sent is the model's answer, and its messages may be edited.
        asker: id of the person who is answered, where no message says it.
        answers: ids of messages that are answered and are not for the history.
    """

    messages: tuple[Message, ...] = ()
    replies: list[Outgoing] = field(default_factory=list)
    model: str = ""
    may_be_reopened: bool = False
    asker: str = ""
    answers: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether an apology takes the place of an answer."""
        return any(one.reply.failure for one in self.replies)

    def say(self, reply: Reply, address: str, asker: str = "") -> None:
        """Add a reply."""
        self.replies.append(Outgoing(reply, address, asker))


class AnsweredTurn(NamedTuple):
    """A turn that has its answer.

    Attributes:
        messages: of the turn.
        model: that wrote the answer; empty for a sentence of the catalogue.
    """

    conversation: str
    turn_id: str
    messages: Sequence[Message]
    model: str = ""


class Feature:
    """Something that people can do: a folder of ``bot/features``.

    It overrides the hooks that it needs; one that it leaves as it is is never called for it. Every
    hook that waits raises ``StoreUnavailable`` if the store does not answer.

    Attributes:
        actions: of its buttons, each with what takes a press, in one request to the store and
            before the platform gets its answer.
        commands: what runs each; their words are in the table ``words`` of ``texts.toml``, or in
            ``words.numbered`` if a number follows them.
        unrecorded: those of them that leave nothing in the history, which in a group is for
            everybody.
        kept: kinds of entries in the index of what belongs to people (``bot.store.belongings``),
            each with what deletes it.
        purged, erased: kinds of keys of a conversation that go with its history, or with all of it.
        shown: those of ``kept`` whose entries begin with a conversation that shows what is kept.
        tool_stores: what the feature's tools may keep for the asker of a turn, by the class by
            which they ask for it (``toolset.tool.ToolContext.store``), each with its maker; None
            where the asker may keep nothing. It is made at the first call that asks.
    """

    actions: Mapping[str, Accept] = NO_ACTIONS
    commands: Mapping[str, RunCommand] = NO_COMMANDS
    unrecorded: Collection[str] = ()
    kept: Mapping[str, Erase] = NOTHING_KEPT
    shown: Collection[str] = ()
    purged: Collection[str] = ()
    erased: Collection[str] = ()
    tool_stores: Mapping[type[Any], MakeStore] = NO_STORES

    def prefetch(self, conversation: str, author: str) -> None:
        """Begin to read what a turn for this author needs, with the request that opens it."""

    def help(self, conversation: str, language: str) -> str:
        """A line of the answer to /help there; may be empty."""
        return ""

    async def overhear(self, conversation: str, event: InboundEvent) -> bool:
        """Take in a message that does not call the bot, in one request to the store and before the
        platform gets its answer; whether a turn is to take it."""
        return False

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult | None:
        """What a turn of such messages leaves; None where it is another feature's."""
        return None

    async def before_model(self, request: TurnRequest, asked: Sequence[Message]) -> Message | None:
        """A message before those that a turn answers; it is not stored."""
        return None

    def greeting(self, key: str, event: InboundEvent) -> str:
        """A line below the sentence ``key`` of the catalogue, which greets; may be empty."""
        return ""

    async def overheard(self, conversation: str) -> list[Message]:
        """What the feature keeps of messages that do not call the bot, oldest first, without
        names."""
        return []

    async def change(self, conversation: str, edits: Mapping[str, Message | None]) -> None:
        """Make edits to what the feature keeps of messages, by their ids; None deletes one."""

    def edit_answer(self, text: str, before: Sequence[Message]) -> str | None:
        """The model's text as people are to see it; None where nothing is sent.

        Args:
            before: the history in the request, with what came of ``before_model``.
        """
        return text

    async def receive(
        self, conversation: str, event: InboundEvent, before: Sequence[Message]
    ) -> InboundEvent:
        """A message that a turn answers, with what the feature adds to it.

        Args:
            before: messages of the same turn.
        """
        return event

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """The answer with what the turn's messages have brought about."""
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """A delivery as it is sent now; None if it is no longer needed; a time (ms of the store's
        clock) before which it is not to be sent."""
        return delivery

    async def cards(self, conversation: str, messages: Sequence[Message]) -> Sequence[ButtonCard]:
        """The cards with buttons that a conversation keeps, and others that were shown with these
        messages, for a channel that shows a conversation anew."""
        return ()

    def places(self, conversation: str) -> Collection[str]:
        """Where the feature stores what belongs to a conversation, beside the conversation
        itself: it goes with that."""
        return ()

    async def run(self) -> None:
        """Run beside the workers of each process; never returns."""

    def announce(self, event: InboundEvent) -> Reply | None:
        """What is said of an event that the feature itself has put into the inbox at its time; None
        where that was another feature."""
        return None

    async def after_turn(
        self, conversation: str, event: InboundEvent, *, failed: bool
    ) -> Reply | None:
        """Note what has become of such an event that the model was to answer; what is said of it
        besides."""
        return None

    async def after_delivery(self, conversation: str, delivery: Delivery, refusal: str) -> None:
        """Note that the platform has taken a delivery, or that it refuses it for ever, and why."""

    async def forget_in(self, conversation: str, author_id: str | None) -> None:
        """Delete what is kept of somebody in a conversation, which another process may be working
        on; None: of everybody."""

    async def overview(self, conversation: str, event: InboundEvent) -> KeptSection | None:
        """What is kept for the event's author, in all conversations, for a page of their own;
        ``conversation`` is their 1:1."""
        return None

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """Delete an item of the overview, if it is the author's; ``action`` is the section's."""
        return False


HOOKS = [name for name in vars(Feature) if callable(getattr(Feature, name)) and name[0] != "_"]


class Features:
    """All features, in the order of their registry; a hook that none has costs nothing."""

    def __init__(self) -> None:
        self._by_hook: dict[str, list[Feature]] = {hook: [] for hook in HOOKS}
        self.actions: dict[str, Accept] = {}
        self.commands: dict[str, RunCommand] = {}
        self.kept: dict[str, Erase] = {}
        self.shown: set[str] = set()
        self.purged: set[str] = set()
        self.erased: set[str] = set()
        self.unrecorded: set[str] = set()
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
            for hook, called in self._by_hook.items():
                if getattr(type(feature), hook) is not getattr(Feature, hook):
                    called.append(feature)

    @property
    def running(self) -> list[Feature]:
        """Those with a ``run``."""
        return self._by_hook["run"]

    def find_store(self, request: TurnRequest) -> FindStore:
        """What a turn's tools ask for their stores, see ``Feature.tool_stores``; each is made once
        for the turn."""
        made: dict[type[Any], Any] = {}

        def find(kind: type[Any]) -> Any:
            if kind not in made and kind in self._tool_stores:
                made[kind] = self._tool_stores[kind](request)
            return made.get(kind)

        return find

    def prefetch(self, conversation: str, author: str) -> None:
        """See ``Feature.prefetch``."""
        for feature in self._by_hook["prefetch"]:
            feature.prefetch(conversation, author)

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

    async def change(self, conversation: str, edits: Mapping[str, Message | None]) -> None:
        """See ``Feature.change``."""
        for feature in self._by_hook["change"]:
            await feature.change(conversation, edits)

    def edit_answer(self, text: str, before: Sequence[Message]) -> str | None:
        """See ``Feature.edit_answer``."""
        edited: str | None = text
        for feature in self._by_hook["edit_answer"]:
            if edited is not None:
                edited = feature.edit_answer(edited, before)
        return edited

    async def receive(
        self, conversation: str, event: InboundEvent, before: Sequence[Message]
    ) -> InboundEvent:
        """See ``Feature.receive``."""
        for feature in self._by_hook["receive"]:
            event = await feature.receive(conversation, event, before)
        return event

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """See ``Feature.after_answer``."""
        for feature in self._by_hook["after_answer"]:
            reply = await feature.after_answer(turn, reply)
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """See ``Feature.before_delivery``."""
        for feature in self._by_hook["before_delivery"]:
            prepared = await feature.before_delivery(conversation, delivery)
            if not isinstance(prepared, Delivery):
                return prepared
            delivery = prepared
        return delivery

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

    def announce(self, event: InboundEvent) -> Reply | None:
        """See ``Feature.announce``."""
        replies = (feature.announce(event) for feature in self._by_hook["announce"])
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
