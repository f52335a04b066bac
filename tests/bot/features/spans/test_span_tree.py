"""Turns as a collector sees them: what is not answered, what waits, and who goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import MethodType
from typing import Any, cast

import pytest

from bot.agent.loop import Agent
from bot.agent.turn import NOBODY
from bot.channels import InboundEvent
from bot.errors import DeliverLater, TryAgain
from bot.features.spans.export import first_span
from bot.features.spans.observer import MOST_SHARES
from bot.pipeline.feature import Feature, TurnRequest
from bot.providers import Provider
from bot.providers.fallback import FallbackProvider
from bot.providers.scripted import Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.telemetry.observed import (
    AttemptBegun,
    DeliveryBegun,
    EventTaken,
    Measured,
    ResponseRead,
    ShareBegun,
    ShareEnded,
)
from bot.transcript import ToolCall, Usage
from tests.bot.harness import HERE, Harness, decision_of, words
from tests.fakes.otlp import OtlpFake, TakenSpan, otlp_fake
from tests.fakes.tools import Launch, tool_map

CALL = ToolCall("c1", "launch", {"what": "kite"})
AGENT, DELIVERY, TOOL = "invoke_agent Kaiwa", "deliver mailbox", "execute_tool launch"
BUSY = Step("One moment", error=TryAgain("rate_limited", "too many requests", after=0.0))


class Retrying(Agent):
    """Asks its model again, as Kaiwa does."""

    def __init__(self, provider: Provider, *rest: object, **options: object) -> None:
        retrying = FallbackProvider([provider], Metrics(), jitter=lambda: 0.0)
        super().__init__(retrying, *rest, **options)  # type: ignore[arg-type]


@pytest.fixture
def collector() -> Iterator[OtlpFake]:
    with otlp_fake() as fake:
        yield fake


def traced(store: Store, collector: OtlpFake, steps: Iterable[Any], content: str = "") -> Harness:
    """A process with a collector."""
    settings = {
        "trace_days": 0,
        "otel_exporter_otlp_endpoint": collector.base_url,
        "otel_instrumentation_genai_capture_message_content": content or "NO_CONTENT",
    }
    return Harness(store, steps, tools=tool_map(Launch()), kind=Retrying, settings=settings)


async def ended(*processes: Harness) -> None:
    """They send what they have."""
    for process in processes:
        await process.runner.services.features.aclose()


def one(spans: list[TakenSpan]) -> TakenSpan:
    (span,) = spans
    return span


async def test_a_call_that_is_asked_about_is_two_spans_of_a_tree(
    store: Store, collector: OtlpFake
) -> None:
    """The turn is parked, and goes on in the same process; the words are in spans and events."""
    steps = [BUSY, Step(calls=(CALL,)), Step("It flies.")]
    harness = traced(store, collector, steps, "SPAN_AND_EVENT")
    await harness.say("Launch the kite", "m1", "address")
    question = await harness.question()
    assert question
    await harness.process()  # looks for a decision, and finds none
    press = words("m2", "")
    await harness.take(decision_of(press, question.key, approved=True, address="address"))
    await harness.process()
    await ended(harness)
    parked, answered = collector.named(AGENT)
    assert (parked.attributes["kaiwa.turn.outcome"], parked.is_error) == ("parked", False)
    assert answered.attributes["kaiwa.turn.outcome"] == "answered"
    assert (parked.parent, answered.parent) == ("", parked.id)
    assert [name for name, _ in parked.events] == ["kaiwa.model.retry"]
    asked, made = collector.named(TOOL)
    assert (asked.parent, made.parent) == (parked.id, answered.id)
    assert made.words("gen_ai.tool.call.arguments") == CALL.arguments
    assert [name for name, _ in made.events] == ["kaiwa.call.decided"]
    chats = collector.named("chat scripted")
    assert [span.is_error for span in chats] == [True, False, False]
    assert chats[-1].words("gen_ai.output.messages")[0]["parts"] == [
        {"type": "text", "content": "It flies."}
    ]
    assert len(collector.logs) == len(chats)


async def test_a_turn_that_crashes_is_a_failure(store: Store, collector: OtlpFake) -> None:
    """Each attempt is a span of one tree."""
    harness = traced(store, collector, [Step(error=RuntimeError("of nobody's making"))])
    await harness.say("Hello", "m1", "address")
    await ended(harness)
    agent = one(collector.named(AGENT))
    assert agent.is_error
    assert agent.attributes["kaiwa.turn.outcome"] == "crashed"
    chat = one(collector.named("chat scripted"))
    assert (chat.parent, chat.is_error) == (agent.id, True)


async def test_who_delivers_for_another_process_links_its_turn(
    store: Store, collector: OtlpFake
) -> None:
    """The one that has answered is told to try later, and does not."""
    answering = traced(store, collector, [Step("Hello")])
    answering.box.failures.append(DeliverLater("busy", after=0.0))
    await answering.say("Hello?", "m1", "address")
    delivering = traced(store, collector, [])
    await delivering.process()
    await ended(answering, delivering)
    assert delivering.box.texts == ["Hello"]
    agent = one(collector.named(AGENT))
    tried, delivered = collector.named(DELIVERY)
    assert (tried.parent, delivered.parent) == (agent.id, "")
    assert delivered.links == [(agent.trace, agent.id)]
    assert [span.attributes["kaiwa.delivery.outcome"] for span in (tried, delivered)] == [
        "later",
        "delivered",
    ]


async def test_what_comes_after_a_turn_has_no_words(store: Store, collector: OtlpFake) -> None:
    """The conversation may have become private meanwhile, in another process."""
    harness = traced(store, collector, [], "SPAN_AND_EVENT")
    features, turn = harness.runner.services.features, f"turn_{'1' * 32}"
    event = InboundEvent(words("m1", "an answer"))
    request = TurnRequest(HERE, event, NOBODY)
    features.observe(HERE, turn, ShareBegun(is_resumed=False))
    features.observe(HERE, turn, EventTaken(event.message, "message", "answered"))
    await features.each(Feature.before_model, request, [event.message])
    for text in ("an answer", "a summary"):
        message = words("m2", text)
        features.observe(HERE, turn, AttemptBegun("scripted", "scripted", "", [message]))
        read = ResponseRead("scripted", (), message, "end_turn", Usage(1))
        features.observe(HERE, turn, read)
        features.observe(HERE, turn, ShareEnded(""))
    await ended(harness)
    assert len(collector.named("chat scripted")) == 2
    assert b"an answer" in collector.raw
    assert b"a summary" not in collector.raw


async def test_what_is_no_turn_has_a_trace_of_its_own(store: Store, collector: OtlpFake) -> None:
    """It is called by a platform's event, which the collector does not learn."""
    harness = traced(store, collector, [])
    observe = harness.runner.services.features.observe
    observe(HERE, "press:U123", DeliveryBegun("thanks", "Thank you"))
    observe(HERE, "press:U123", Measured("delivery", "refused", "mailbox", 1, {}, {}))
    await ended(harness)
    delivery = one(collector.named(DELIVERY))
    assert (delivery.parent, delivery.links, delivery.is_error) == ("", [], True)
    assert b"U123" not in collector.raw


async def test_so_many_turns_are_remembered(store: Store, collector: OtlpFake) -> None:
    """Of an older one a delivery has a tree of its own."""
    harness = traced(store, collector, [])
    features = harness.runner.services.features
    for number in range(MOST_SHARES + 1):
        turn_id = f"turn_{number:032x}"
        features.observe(HERE, turn_id, ShareBegun(is_resumed=False))
        features.observe(HERE, turn_id, EventTaken(words("m1", "Hello"), "message", "answered"))
        features.observe(HERE, turn_id, ShareEnded(""))
    (observer,) = features.hooks(Feature.observer)
    feature: Any = cast(MethodType, observer).__self__
    assert len(feature._shares) == MOST_SHARES
    assert feature._begun == {}
    await ended(harness)


def test_a_trace_has_the_digits_of_its_turn() -> None:
    """Anything else that is called a turn has some of its own."""
    digits = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert f"{first_span(f'turn_{digits}').trace_id:032x}" == digits
    others = {first_span(name).trace_id for name in ("turn_short", "press-1", f"turn_{digits}_m2")}
    assert len(others) == 3
    assert int(digits, 16) not in others
