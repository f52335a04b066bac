"""The feature as an operator meets it; played where its folder stands among the features."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import MethodType
from typing import cast

import httpx
from bot.features.diary.feature import Diary

from bot.app import site
from bot.app.runtime import open_runtime
from bot.app.services import open_services
from bot.errors import TryAgain
from bot.pipeline.feature import Feature
from bot.pipeline.services import Features
from bot.providers.scripted import Step
from bot.settings import Settings
from bot.store import Store
from bot.telemetry.observed import (
    AttemptFailed,
    CallDecided,
    CallEnded,
    DeliveryBegun,
    EventTaken,
    Measured,
    RequestSent,
    ResponseRead,
)
from bot.transcript import ToolCall
from bot.worker import ChatWorker
from tests.bot.harness import HERE, Harness
from tests.fakes.tools import Launch, tool_map
from tests.retrying import Retrying

CALL = ToolCall("c1", "launch", {"what": "kite"})


def diary_of(features: Features) -> Diary:
    """The feature among all others."""
    observers = [cast(MethodType, one).__self__ for one in features.hooks(Feature.observer)]
    (diary,) = [one for one in observers if isinstance(one, Diary)]
    return diary


async def test_every_step_of_a_turn_is_observed(store: Store) -> None:
    """A failure of the model, a call that is allowed, and the answer; another turn is noted
    beside it, and nothing is left an hour later."""
    busy = Step("One moment", error=TryAgain("rate_limited", "too many requests", after=0.0))
    steps = [busy, Step(calls=(CALL,)), Step("It flies.")]
    harness = Harness(store, steps, tools=tool_map(Launch()), kind=Retrying)
    diary = diary_of(harness.runner.services.features)
    await harness.receive("Launch the kite", "m1")
    await harness.runner.process(HERE, "u1")
    (turn,) = diary.steps.values()
    assert [step.use for step in turn if isinstance(step, EventTaken)] == ["answered"]
    assert [step.model for step in turn if isinstance(step, RequestSent)] == ["scripted"] * 3
    failed = AttemptFailed("scripted", "rate_limited", "too many requests", "scripted")
    assert [step for step in turn if isinstance(step, AttemptFailed)] == [failed]
    answers = [step.message for step in turn if isinstance(step, ResponseRead)]
    assert [(message.text, message.calls) for message in answers] == [
        ("", (CALL,)),
        ("It flies.", ()),
    ]
    assert [step for step in turn if isinstance(step, CallDecided)] == [
        CallDecided(CALL, approved=True, by="u1", reason="")
    ]
    (ended,) = (step for step in turn if isinstance(step, CallEnded))
    assert (ended.call, ended.made, ended.risk) == (CALL, CALL, "high")
    assert ended.result.response == {"heard": CALL.arguments}
    sent = [step.text for step in turn if isinstance(step, DeliveryBegun)]
    assert sent == ["It flies."]
    outcomes = [(step.kind, step.outcome) for step in turn if isinstance(step, Measured)]
    assert outcomes == [
        ("model", "tool_use"),
        ("tool", "ok"),
        ("model", "end_turn"),
        ("turn", "answered"),
        ("delivery", "delivered"),
    ]
    await harness.receive("/stop", "m2")
    await harness.runner.process(HERE)
    assert len(diary.steps) == 2
    await diary.forget()
    assert diary.steps == {}


async def test_what_it_shows_is_behind_the_guard_of_the_page(settings: Settings) -> None:
    """Only this machine reads it where no token is set."""
    worker = ChatWorker(HERE)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, settings.store_url))
        runtime = await stack.enter_async_context(open_runtime(services, worker.add))
        await stack.enter_async_context(worker.run(runtime.conversations.process))
        transport = httpx.ASGITransport(site.asgi(services, runtime, None))
        web = await stack.enter_async_context(httpx.AsyncClient(transport=transport))
        assert (await web.get("http://kaiwa.example/diary")).status_code == 403
        shown = await web.get("http://localhost/diary")
        assert (shown.status_code, shown.json()) == (200, [])
