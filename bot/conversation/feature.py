"""What a feature is to the pipeline, and the list that calls its hooks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from bot.channels import Accept, ButtonCard, Delivery, InboundEvent, Reply
from bot.store import Erase
from bot.transcript import Author, Message

NO_ACTIONS: Mapping[str, Accept] = MappingProxyType({})
NOTHING_KEPT: Mapping[str, Erase] = MappingProxyType({})


class TurnRequest(NamedTuple):
    """Whom a turn answers: the author of its newest message, in a conversation."""

    conversation: str
    event: InboundEvent
    author: Author


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
        kept: kinds of entries in the index of what belongs to people (``bot.store.belongings``),
            each with what deletes it.
    """

    actions: Mapping[str, Accept] = NO_ACTIONS
    kept: Mapping[str, Erase] = NOTHING_KEPT

    def tool_store(self, request: TurnRequest) -> object | None:
        """What the feature's tools may keep for the asker, which they find by its class
        (``toolset.tool.ToolContext.store``)."""
        return None

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


class Features:
    """All features, in the order of their registry; a hook that none has costs nothing."""

    def __init__(self) -> None:
        self.actions: dict[str, Accept] = {}
        self.kept: dict[str, Erase] = {}
        self._tool_store: list[Feature] = []
        self._after_answer: list[Feature] = []
        self._before_delivery: list[Feature] = []
        self._cards: list[Feature] = []
        self._places: list[Feature] = []

    def install(self, features: Iterable[Feature]) -> None:
        """Take features in; what they need to be made may hold this list already."""
        for feature in features:
            self.actions.update(feature.actions)
            self.kept.update(feature.kept)
            for hook, called in (
                (Feature.tool_store, self._tool_store),
                (Feature.after_answer, self._after_answer),
                (Feature.before_delivery, self._before_delivery),
                (Feature.cards, self._cards),
                (Feature.places, self._places),
            ):
                if getattr(type(feature), hook.__name__) is not hook:
                    called.append(feature)

    def tool_stores(self, request: TurnRequest) -> dict[type[Any], Any]:
        """The stores of a turn's tools, by class; see ``Feature.tool_store``."""
        found = (feature.tool_store(request) for feature in self._tool_store)
        return {type(store): store for store in found if store is not None}

    async def after_answer(self, turn: AnsweredTurn, reply: Reply) -> Reply:
        """See ``Feature.after_answer``."""
        for feature in self._after_answer:
            reply = await feature.after_answer(turn, reply)
        return reply

    async def before_delivery(self, conversation: str, delivery: Delivery) -> Delivery | int | None:
        """See ``Feature.before_delivery``."""
        for feature in self._before_delivery:
            prepared = await feature.before_delivery(conversation, delivery)
            if not isinstance(prepared, Delivery):
                return prepared
            delivery = prepared
        return delivery

    async def cards(self, conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        """See ``Feature.cards``."""
        found: list[ButtonCard] = []
        for feature in self._cards:
            found += await feature.cards(conversation, messages)
        return found

    def places(self, conversation: str) -> set[str]:
        """See ``Feature.places``."""
        found: set[str] = set()
        for feature in self._places:
            found.update(feature.places(conversation))
        return found
