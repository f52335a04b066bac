"""Refused events: counted, and logged once a minute."""

from __future__ import annotations

import pytest
import structlog

from bot.channels import InboundEvent
from bot.errors import StoreUnavailable
from bot.pipeline.accept import Refusals
from bot.store.clients import MAKE_ROOM
from bot.telemetry import Metrics
from bot.transcript import Author, Message, Text
from tests.waiting import until

HERE = "mailbox:alice"
FULL, AWAY = StoreUnavailable("no memory", MAKE_ROOM, "full"), StoreUnavailable("no answer")
STOPPING = StoreUnavailable("shutting down", cause="stopping")


class Refusing:
    """An intake that refuses everything, and the alerts for it."""

    def __init__(self, error: StoreUnavailable) -> None:
        self.error = error
        self.alerts = 0
        self.metrics = Metrics()

    async def __call__(self, conversation: str, event: InboundEvent, /) -> bool:
        raise self.error

    async def alarm(self) -> None:
        self.alerts += 1

    def refusals(self, pause_s: float) -> Refusals:
        """What stands before it."""
        return Refusals(self, self.metrics, self.alarm, pause_s)

    def count(self, cause: str) -> float | None:
        """What the metrics say."""
        labels = {"channel": "mailbox", "cause": cause}
        return self.metrics.registry.get_sample_value("kaiwa_webhooks_refused_total", labels)


async def refuse(refusals: Refusals, times: int) -> None:
    """Have events refused."""
    message = Message("m1", "user", (Text("hello"),), 0, Author("u1"))
    for _ in range(times):
        with pytest.raises(StoreUnavailable):
            await refusals(HERE, InboundEvent(message))


@pytest.mark.parametrize(("error", "alerts"), [(FULL, 1), (AWAY, 0)], ids=["full", "away"])
async def test_the_first_refusal_is_a_line_and_the_others_of_a_minute_are_one(
    error: StoreUnavailable, alerts: int
) -> None:
    """A full store raises one alert; when nothing is refused any more, all is quiet."""
    intake = Refusing(error)
    refusals = intake.refusals(0.05)
    with structlog.testing.capture_logs() as logs:
        await refuse(refusals, 5)
        assert refusals.cause == error.cause
        await until(lambda: not refusals.cause)
    lines = [(line["event"], line["cause"], line["count"], line["fix"]) for line in logs]
    assert lines == [("store.messages_refused", error.cause, count, error.fix) for count in (1, 4)]
    assert (intake.alerts, intake.count(error.cause)) == (alerts, 5)


async def test_a_process_that_stops_only_counts() -> None:
    """Another one takes what is sent again."""
    intake = Refusing(STOPPING)
    refusals = intake.refusals(60)
    with structlog.testing.capture_logs() as logs:
        await refuse(refusals, 2)
    assert (logs, refusals.cause, intake.alerts, intake.count("stopping")) == ([], "", 0, 2)
