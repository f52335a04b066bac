"""What a death has left on record, what must become of it, and what has become of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.agent.tool_runner import INTERRUPTED
from bot.agent.turn import RecordedResponse, StartedCall
from bot.channels import Delivery
from bot.pipeline.history import read_record
from bot.pipeline.journal import decode_delivery, read_entries
from bot.store.keys import CONVERSATION_KINDS, unpack
from bot.transcript import Message, ToolResult
from tests.bot.store.turns import key
from tests.crash.simulation import BY_MODEL, Conversation, Process

PASSING = [kind for kind in CONVERSATION_KINDS if kind != "history"]

Results = dict[int, dict[str, Any]]  # by the call's argument n


@dataclass(frozen=True, slots=True)
class Record:
    """What stands in the store.

    Attributes:
        spoken: ids of the model's messages.
        begun: calls that must not be made twice, by their argument ``n``.
        outbox: attempts at deliveries that are not known to have arrived, by id.
        void: the model's answers that a change has made void; nobody asks for them again.
        is_answered: no message waits for an answer, or for the rest of one, or is still to come.
    """

    spoken: set[str]
    begun: set[int]
    results: Results
    outbox: dict[str, int]
    void: int
    is_answered: bool

    def since(self, before: Record) -> Record:
        """What has come in addition."""
        return replace(self, spoken=self.spoken - before.spoken)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a conversation has ended.

    Attributes:
        answers: as the platform shows them, each delivery once.
        past: the words of the history.
        asked: how often the last process asked the model.
        called: the tool calls it made.
        repeated: deliveries it sent though they were on record as sent.
        marked_twice: calls that were made twice though that leaves two traces.
        left: keys that should not be in the store any more.
        by_the_dead: what a dead process has sent.
    """

    answers: list[str]
    past: list[str]
    results: Results
    asked: int
    called: list[int]
    repeated: set[str] = field(default_factory=set)
    marked_twice: list[int] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    by_the_dead: int = 0


async def record_of(conversation: Conversation) -> Record:
    """Read the store."""
    journal = await conversation.frames("journal")
    steps = read_entries(unpack(frame) for frame in journal).steps
    past = await _past(conversation)
    messages = [*past, *(step.message for step in steps if isinstance(step, RecordedResponse))]
    results = [step for step in steps if isinstance(step, ToolResult)]
    outbox = [decode_delivery(raw) for raw in await conversation.frames("outbox")]
    calls = {call.id: call.arguments["n"] for message in messages for call in message.calls}
    return Record(
        spoken={message.id for message in messages if message.opaque == BY_MODEL},
        begun={calls[step.call_id] for step in steps if isinstance(step, StartedCall)},
        results=_results(past) | {calls[result.call_id]: result.response for result in results},
        outbox={delivery.id: delivery.attempts for delivery in outbox},
        void=conversation.void,
        is_answered=not (journal or await conversation.frames("inbox") or conversation.to_come),
    )


async def ending_of(conversation: Conversation, last: Process, record: Record) -> Ending:
    """Look at everything."""
    sent = conversation.platform.sent
    earlier = sent[: len(sent) - len(last.delivered)]
    again = {delivery.id for delivery in earlier} & {delivery.id for delivery in last.delivered}
    past = await _past(conversation)
    left = [
        kind for kind in PASSING if await conversation.redis.exists(key(kind, conversation.name))
    ]
    return Ending(
        answers=_shown(sent),
        past=[message.text for message in past if message.text],
        results=_results(past),
        asked=last.asked,
        called=sorted(last.called),
        repeated=again - record.outbox.keys(),
        marked_twice=conversation.marked_twice,
        left=left if await conversation.due_at() is None else [*left, "due"],
        by_the_dead=len(conversation.platform.sent_by_the_dead),
    )


def owed(whole: Ending, record: Record, *, more_to_come: bool) -> Ending:
    """How a conversation must end of which so much is on record.

    Args:
        whole: the same one, done by a single process.
    """
    interrupted = record.begun - record.results.keys()
    open_calls = [n for n in whole.called if n not in record.begun | record.results.keys()]
    is_over = record.is_answered and not more_to_come
    return replace(
        whole,
        results=whole.results | {n: {"error": INTERRUPTED} for n in interrupted},
        asked=0 if is_over else whole.asked - len(record.spoken) - record.void,
        called=[] if is_over else open_calls,
    )


def _shown(sent: Sequence[Delivery]) -> list[str]:
    """What people see in the end."""
    gone = {id for delivery in sent for id in delivery.deletes or ()}
    shown = {one.id: one.reply.text for one in sent if one.id not in gone and one.deletes is None}
    return list(shown.values())


async def _past(conversation: Conversation) -> list[Message]:
    return [
        message
        for entry in await conversation.frames("history")
        for message in read_record(entry).messages
    ]


def _results(messages: list[Message]) -> Results:
    calls = {call.id: call.arguments["n"] for message in messages for call in message.calls}
    return {
        calls[result.call_id]: result.response for message in messages for result in message.results
    }
