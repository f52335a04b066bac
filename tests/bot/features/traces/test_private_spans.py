"""What a collector (``bot.features.spans``) learns of a conversation after /private on."""

from __future__ import annotations

import pytest

from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import Harness
from tests.fakes.otlp import otlp_fake
from tests.fakes.tools import Launch, tool_map
from tests.retrying import Retrying

SECRET = "zebrafinch"


@pytest.mark.parametrize("days", [0, 7])
async def test_spans_of_a_private_conversation_have_no_words(store: Store, days: int) -> None:
    """Neither of people nor of the model nor of calls, until it is private no more; also where
    nothing is traced."""
    call = ToolCall("c1", "launch", {"what": SECRET})
    steps = [Step(calls=(call,)), Step(f"A {SECRET} flies."), Step("Back.")]
    with otlp_fake() as collector:
        settings = {
            "trace_days": days,
            "approval_mode": "auto_approve",
            "otel_exporter_otlp_endpoint": collector.base_url,
            "otel_instrumentation_genai_capture_message_content": "SPAN_AND_EVENT",
        }
        harness = Harness(store, steps, tools=tool_map(Launch()), kind=Retrying, settings=settings)
        await harness.say("/private on", "m1")
        await harness.say(f"Launch a {SECRET}", "m2")
        await harness.say("/reset", "m3")
        await harness.say("/private off", "m4")
        await harness.say("And back", "m5")
        await harness.runner.services.features.aclose()
    said = [repr((span.attributes, span.events)) for span in collector.spans]
    assert not [span for span in said if SECRET in span]
    assert SECRET not in repr(collector.logs)
    assert len([span for span in said if "And back" in span]) == 2
    assert len(collector.logs) == 1
