"""The steps of turns become spans by OpenTelemetry's conventions for generative AI, version 1.41.1:
``invoke_agent``, ``chat``, ``execute_tool``, and one of our own for a delivery.

What a process does of a turn is one tree. Who is asked, where and what about is no part of it,
unless words are wanted: a conversation is a digest, and a failure the name of its kind.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanKind,
    StatusCode,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.middleware import Middleware

from bot.features.spans import words
from bot.features.spans.export import TURN_ID, Export, first_span
from bot.features.spans.traceparent import TraceparentReader
from bot.pipeline.feature import Feature, TurnRequest
from bot.pipeline.services import Services
from bot.store.keys import digest_of
from bot.telemetry.observed import (
    AttemptBegun,
    AttemptFailed,
    CallBegun,
    CallDecided,
    CallEnded,
    DeliveryBegun,
    EventTaken,
    Measured,
    Observe,
    ObservedStep,
    ResponseRead,
    ShareBegun,
    ShareEnded,
    ShareFailed,
    guarded,
)
from bot.transcript import Message, Usage, channel_of
from toolset.tool import TRACEPARENT

MOST_SHARES = 1_000  # that may get another delivery in the same tree
ID_CAP = 100  # characters of what a vendor calls a call
DETAILS = "gen_ai.client.inference.operation.details"
FAILURES = ("failed", "crashed", "given_up")  # outcomes of a turn
# Names of the conventions; they have none for others, whose own is taken.
PROVIDERS = {"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "json": "openai"}
CARRIER = TraceContextTextMapPropagator()


@dataclass(slots=True)
class Chat:
    """A request to a model that is under way."""

    span: Span
    asked: AttemptBegun


class Begun(NamedTuple):
    """A turn that has been begun here, and has no span yet."""

    conversation: str
    is_resumed: bool
    at_ns: int


@dataclass(slots=True)
class Share:
    """What this process does of a turn.

    Attributes:
        conversation: of the turn.
        root: the first span of the tree.
        agent: the span to which models and calls belong.
        open: spans that have not ended.
        failure: of the last model that failed.
    """

    conversation: str
    root: Span
    agent: Span
    open: set[Span] = field(default_factory=set)
    delivery: Span | None = None
    usage: Usage = field(default_factory=Usage)
    failure: str = ""
    outcome: str = ""
    asked: list[Message] = field(default_factory=list)
    answered: ResponseRead | None = None


# Calls and requests run side by side, each in a context of its own.
CALL: ContextVar[Span | None] = ContextVar("call", default=None)
CHAT: ContextVar[Chat | None] = ContextVar("chat", default=None)


class Spans(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    middleware = (Middleware(TraceparentReader),)

    def __init__(self, services: Services, export: Export) -> None:
        self._services = services
        self._export = export
        self._shares: OrderedDict[str, Share] = OrderedDict()
        self._begun: dict[str, Begun] = {}
        self._open: set[str] = set()  # conversations with a turn whose words may be told

    async def before_model(self, request: TurnRequest, asked: Sequence[Message]) -> Message | None:
        """Look whether the words of the turn may be told."""
        conversation = request.conversation
        if self._export.in_spans or self._export.in_events:
            features = self._services.features
            if not any(await features.each(Feature.is_private, conversation)):
                self._open.add(conversation)
        return None

    async def aclose(self) -> None:
        """Send what is left."""
        await self._export.aclose()

    def observer(self, conversation: str, turn_id: str) -> Observe:
        """What makes a span of a step, or adds to one."""
        return guarded(partial(self._observe, conversation, turn_id))

    def _observe(self, conversation: str, turn_id: str, step: ObservedStep) -> None:
        if isinstance(step, ShareBegun):
            # A turn before this one may have been left in a call.
            CALL.set(None)
            CHAT.set(None)
            TRACEPARENT.set("")
            begun = Begun(conversation, is_resumed=step.is_resumed, at_ns=time.time_ns())
            self._begun[turn_id] = begun
            return
        if isinstance(step, DeliveryBegun):
            self._begin_delivery(conversation, turn_id)
            return
        # A turn that only looks for a person's decision has no steps.
        begun_here = self._begun.pop(turn_id, None)
        if begun_here and isinstance(step, ShareEnded):
            return
        if begun_here:
            self._begin(turn_id, begun_here)
        if share := self._shares.get(turn_id):
            self._note(share, step)
        if isinstance(step, ShareEnded):
            self._open.discard(conversation)

    def _note(self, share: Share, step: ObservedStep) -> None:
        match step:
            case EventTaken():
                self._note_event(share, step)
            case AttemptBegun():
                self._begin_chat(share, step)
            case ResponseRead():
                self._end_chat(share, step)
            case AttemptFailed():
                self._fail_chat(share, step)
            case CallBegun():
                self._begin_call(share, step)
            case CallDecided():
                _note_decision(step)
            case CallEnded():
                self._end_call(share, step)
            case Measured(kind="turn"):
                share.outcome = step.outcome
            case Measured(kind="delivery"):
                _end_delivery(share, step.outcome)
            case ShareFailed():
                share.outcome, share.failure = step.outcome, step.outcome
            case ShareEnded():
                self._end(share, step.cause)

    # Turns

    def _begin(self, turn_id: str, begun: Begun) -> None:
        agent = self._services.defaults.bot_name
        provider = self._services.model_of(begun.conversation)
        about = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _provider(provider.name),
            "gen_ai.request.model": provider.model,
            "gen_ai.agent.name": agent,
            "gen_ai.agent.version": self._export.version,
            **_place(begun.conversation, turn_id),
        }
        name, kind, started_ns = f"invoke_agent {agent}", SpanKind.INTERNAL, begun.at_ns
        if known := self._shares.get(turn_id):
            _end_delivery(known, "left")
            span = self._export.start(name, kind, about, parent=known.root, started_ns=started_ns)
        else:
            span = self._export.start(
                name,
                kind,
                about,
                ids=first_span(turn_id),
                is_linked=begun.is_resumed,
                started_ns=started_ns,
            )
        root = known.root if known else span
        self._keep(turn_id, Share(begun.conversation, root, span))

    def _keep(self, turn_id: str, share: Share) -> None:
        self._shares[turn_id] = share
        self._shares.move_to_end(turn_id)
        if len(self._shares) > MOST_SHARES:
            _, oldest = self._shares.popitem(last=False)
            self._end(oldest, "")

    def _note_event(self, share: Share, step: EventTaken) -> None:
        """Link the request that has brought the event: it is not its sender's turn."""
        if step.traceparent:
            context = CARRIER.extract({"traceparent": step.traceparent}, Context())
            share.agent.add_link(get_current_span(context).get_span_context())
        if step.use == "answered" and self._export.in_spans:
            share.asked.append(step.message)

    def _end(self, share: Share, cause: str) -> None:
        """End the spans of a turn, whatever is under way."""
        is_parked = cause == "TurnParked"
        for span in share.open:
            if is_parked:
                span.set_attribute("kaiwa.tool.outcome", "parked")
            else:
                _fail(span, cause or "cancelled")
            span.end()
        share.open.clear()
        agent = share.agent
        if not agent.is_recording():
            return
        agent.set_attributes(_used(share.usage))
        outcome = share.outcome or ("parked" if is_parked else "left")
        agent.set_attribute("kaiwa.turn.outcome", outcome)
        if share.outcome in FAILURES:
            _fail(agent, share.failure or "_OTHER")
        elif cause and not is_parked:
            _fail(agent, cause)
        tells = self._export.in_spans and share.conversation in self._open
        if tells and share.asked:
            agent.set_attribute("gen_ai.input.messages", words.messages(share.asked))
        if tells and share.answered:
            said = words.answer(share.answered.message, share.answered.stop_reason)
            agent.set_attribute("gen_ai.output.messages", said)
        agent.end()
        # Deliveries follow; what the span says is not needed for them.
        share.root = NonRecordingSpan(share.root.get_span_context())
        share.agent = NonRecordingSpan(agent.get_span_context())
        share.asked, share.answered = [], None

    # Models

    def _begin_chat(self, share: Share, step: AttemptBegun) -> None:
        about: dict[str, str | bool] = {**_asked(step), "gen_ai.request.stream": True}
        parent = CALL.get() or share.agent
        span = self._export.start(f"chat {step.model}", SpanKind.CLIENT, about, parent=parent)
        share.open.add(span)
        CHAT.set(Chat(span, step))

    def _end_chat(self, share: Share, step: ResponseRead) -> None:
        if (chat := CHAT.get()) is None:
            return
        reason = words.FINISH_REASONS.get(step.stop_reason, step.stop_reason)
        chat.span.set_attributes(
            {
                "gen_ai.response.model": step.model,
                "gen_ai.response.finish_reasons": [reason],
                **_used(step.usage),
            }
        )
        share.usage += step.usage
        if self._export.in_spans:
            share.answered = step
        if step.stop_reason in ("blocked", "malformed"):
            _fail(chat.span, step.stop_reason)
        self._close_chat(share, chat, step)

    def _fail_chat(self, share: Share, step: AttemptFailed) -> None:
        """End the request, and say at the turn what comes of it. The vendor's words may quote
        people, so only their kind is told."""
        if chat := CHAT.get():
            _fail(chat.span, step.failure)
            self._close_chat(share, chat, None)
        share.failure = step.failure
        what = "fallback" if step.next_model else "gave_up"
        if step.next_model == step.model:
            what = "retry"
        about: dict[str, str | float] = {
            "gen_ai.request.model": step.model,
            "error.type": step.failure,
        }
        if step.next_model:
            about |= {"kaiwa.next_model": step.next_model, "kaiwa.wait_s": step.wait_s}
        share.agent.add_event(f"kaiwa.model.{what}", about)

    def _close_chat(self, share: Share, chat: Chat, read: ResponseRead | None) -> None:
        """End the span, with the words of the request and of its answer where they are wanted."""
        if share.conversation in self._open:
            said = {
                "gen_ai.system_instructions": words.instructions(chat.asked.system),
                "gen_ai.input.messages": words.messages(chat.asked.messages),
            }
            if read is not None:
                said["gen_ai.output.messages"] = words.answer(read.message, read.stop_reason)
            if self._export.in_events:
                self._export.event(DETAILS, {**_asked(chat.asked), **said}, chat.span)
            if self._export.in_spans:
                chat.span.set_attributes(said)
        chat.span.end()
        share.open.discard(chat.span)
        CHAT.set(None)

    # Calls

    def _begin_call(self, share: Share, step: CallBegun) -> None:
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": step.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": step.call.id[:ID_CAP],
        }
        name = f"execute_tool {step.tool}"
        span = self._export.start(name, SpanKind.INTERNAL, about, parent=share.agent)
        share.open.add(span)
        carrier: dict[str, str] = {}
        CARRIER.inject(carrier, set_span_in_context(span))
        TRACEPARENT.set(carrier.get("traceparent", ""))
        CALL.set(span)

    def _end_call(self, share: Share, step: CallEnded) -> None:
        if (span := CALL.get()) is None:
            return
        result = step.result
        outcome = result.outcome
        span.set_attributes({"kaiwa.tool.risk": step.risk, "kaiwa.tool.outcome": outcome})
        if outcome != "ok":
            _fail(span, outcome)
        if self._export.in_spans and share.conversation in self._open:
            span.set_attribute("gen_ai.tool.call.arguments", words.value(step.made.arguments))
            span.set_attribute("gen_ai.tool.call.result", words.value(result.response))
        span.end()
        share.open.discard(span)
        CALL.set(None)
        TRACEPARENT.set("")

    # Deliveries

    def _begin_delivery(self, conversation: str, turn_id: str) -> None:
        channel = channel_of(conversation)
        about = {"kaiwa.channel": channel, **_place(conversation, turn_id)}
        name, kind = f"deliver {channel}", SpanKind.CLIENT
        if share := self._shares.get(turn_id):
            span = self._export.start(name, kind, about, parent=share.root)
        else:
            # Another process has taken the turn; what is no turn's has a trace for itself.
            ids = first_span(turn_id) if TURN_ID.fullmatch(turn_id) else None
            span = self._export.start(name, kind, about, ids=ids, is_linked=True)
            share = Share(conversation, span, span)
            self._keep(turn_id, share)
        _end_delivery(share, "left")
        share.delivery = span


def _note_decision(step: CallDecided) -> None:
    if span := CALL.get():
        about = {"kaiwa.approved": step.approved, "kaiwa.by_a_person": bool(step.by)}
        span.add_event("kaiwa.call.decided", about)


def _end_delivery(share: Share, outcome: str) -> None:
    if span := share.delivery:
        span.set_attribute("kaiwa.delivery.outcome", outcome)
        if outcome in ("refused", "left"):
            _fail(span, outcome)
        span.end()
        share.delivery = None


def _place(conversation: str, turn_id: str) -> dict[str, str]:
    # What is no turn, as the thanks for a rating, has the id of a platform's event.
    shown_id = turn_id if TURN_ID.fullmatch(turn_id) else digest_of(turn_id)
    return {"gen_ai.conversation.id": digest_of(conversation, 32), "kaiwa.turn.id": shown_id}


def _asked(step: AttemptBegun) -> dict[str, str]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(step.provider),
        "gen_ai.request.model": step.model,
    }


def _provider(name: str) -> str:
    return PROVIDERS.get(name, name)


def _used(usage: Usage) -> dict[str, int]:
    """Tokens as the conventions count them: cached ones are input, thoughts are output."""
    return {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.output_tokens": usage.output + usage.thinking,
        "gen_ai.usage.reasoning.output_tokens": usage.thinking,
    }


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
