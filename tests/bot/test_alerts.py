"""What the operator is told: once for each cause and day, through the outbox, or by the log
alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import structlog

from bot.alerts import Alerts
from bot.channels import Delivery
from bot.clock import Days
from bot.errors import DeliveryRefused, ModelUnusable, TokenRefused
from bot.pipeline.journal import decode_delivery
from bot.providers.scripted import Step
from bot.store import Store, open_store
from bot.texts import LANGUAGES, load
from bot.transcript import Usage
from tests.bot.features.limits.budgets_harness import Clock
from tests.bot.harness import Harness, Mailbox
from tests.process.redis_server import RedisServer

NOTICES = "mailbox:notices:OPS"
NAME = "notice_2026-11-21_token_refused_x"
NEXT_STEP = re.compile(r"kaiwa (doctor|outbox list|places)|DAILY_TOKEN_LIMIT")


def make_alerts(
    store: Store, clock: Clock, recipient: str = "mailbox:OPS", language: str = "en"
) -> Alerts:
    """The alerts of one process."""
    alerts = Alerts(store, load(), Days("UTC", clock), language, recipient)
    alerts.connect({"mailbox": Mailbox()})
    return alerts


async def notices(store: Store, harness: Harness) -> list[str]:
    """What the operator gets, after whoever is due was attended to."""
    for conversation in await store.leases.due(10):
        await harness.runner.process(conversation)
    return [
        delivery.reply.text
        for delivery in harness.box.delivered
        if delivery.id.startswith("notice_")
    ]


async def test_a_cause_is_told_once_a_day_however_many_processes_notice(store: Store) -> None:
    """The next day it is told again; another cause is another notice."""
    clock = Clock()
    one, other = make_alerts(store, clock), make_alerts(store, clock)
    for alerts in (one, other, one):
        await alerts.notice("store_full", "81 %")
    await other.notice("reminder_ended", "archived")
    clock.now += 86_400
    await one.notice("store_full", "82 %")
    harness = Harness(store, [])
    assert [shown[:28] for shown in await notices(store, harness)] == [
        "The store is nearly full (81",
        "A repeating reminder has end",
        "The store is nearly full (82",
    ]
    assert await store.leases.due(10) == []


async def test_an_alert_says_how_many_turns_failed_since_the_last_one(store: Store) -> None:
    """Those of all processes, each once: another day begins with what came after the alert."""
    clock = Clock()
    one, other = make_alerts(store, clock), make_alerts(store, clock)
    for alerts in (one, other, one, other):
        await alerts.notice_failure("key_refused", "GEMINI_API_KEY was refused (401)")
    await one.notice_failure("timed_out", "a passing one")
    clock.now += 86_400
    for alerts in (other, one):
        await alerts.notice_failure("key_refused", "GEMINI_API_KEY was refused (401)")
    clock.now += 86_400
    await one.notice_failure("key_refused", "GEMINI_API_KEY was refused (401)")
    told = await notices(store, Harness(store, []))
    assert [int(text.partition("last such alert: ")[2][0]) for text in told] == [1, 4, 2]
    assert all("GEMINI_API_KEY" in text and "kaiwa doctor" in text for text in told)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_alert_says_what_to_run_or_to_set(language: str) -> None:
    """The operator, who reads it on a phone, has no manual at hand; a reminder's end is nothing to
    mend."""
    sentences = load().table("alert", language)
    silent = {name for name, text in sentences.items() if not NEXT_STEP.search(text)}
    assert silent == {"reminder_ended"}


async def test_a_notice_waits_in_the_outbox_of_its_own_conversation(store: Store) -> None:
    """So that it is tried again like any answer, in the language of the settings."""
    await make_alerts(store, Clock(), language="ja").notice("token_refused", "401", platform="x")
    raw = await store.outbox.head(NOTICES)
    assert raw is not None
    delivery = decode_delivery(raw)
    assert delivery.reply.text.startswith("アクセスが拒否されました（x）：401。")
    assert delivery == Delivery(NAME, NAME, delivery.reply)


@pytest.mark.parametrize(
    ("recipient", "platform"), [("", ""), ("line:U1", ""), ("mailbox:OPS", "mailbox")]
)
async def test_where_no_way_leads_to_the_operator_the_log_tells(
    store: Store, recipient: str, platform: str
) -> None:
    """Nobody is named, the channel is off, or it is the one that is in trouble."""
    alerts = make_alerts(store, Clock(), recipient)
    with structlog.testing.capture_logs() as logs:
        await alerts.notice("token_refused", "invalid_auth", platform=platform)
        await alerts.notice("token_refused", "invalid_auth", platform=platform)
    assert [(entry["event"], entry["cause"]) for entry in logs] == [
        ("alert.raised", "token_refused")
    ]
    assert "invalid_auth" in logs[0]["notice"]
    assert await store.leases.due(10) == []


async def test_a_notice_that_could_not_be_kept_is_tried_again(tmp_path: Path) -> None:
    """While the store is away nothing raises, the log says so once, and the next occasion
    counts."""
    server = RedisServer(tmp_path)
    async with open_store(server.url, history_days=1) as late:
        alerts = make_alerts(late, Clock())
        with structlog.testing.capture_logs() as logs:
            await alerts.notice("dead_letters")
            await alerts.notice("dead_letters")
            server.start()
            try:
                await alerts.notice("dead_letters")
                assert await late.outbox.head(NOTICES) is not None
            finally:
                server.kill()
    assert [entry["event"] for entry in logs] == ["alert.raised", "alert.not_sent"]


async def test_the_days_tokens_are_told_at_80_percent_and_when_they_are_gone(store: Store) -> None:
    """Each once, while turns go on."""
    steps = [Step(f"Answer {number}", usage=Usage(25)) for number in range(1, 5)]
    harness = Harness(store, steps, settings={"daily_token_limit": 100}, alert_to="mailbox:OPS")
    reported = []
    for number in range(1, 6):
        await harness.say("hi", f"m{number}")
        await harness.runner.services.features.aclose()
        reported.append(len(await notices(store, harness)))
    assert reported == [0, 0, 0, 1, 1]
    (only,) = await notices(store, harness)
    assert only.startswith("Today's tokens are spent (100 / 100).")
    low = Harness(
        store,
        [Step("One", usage=Usage(5))],
        settings={"daily_token_limit": 110},
        alert_to="mailbox:OPS",
    )
    await low.say("hi", "m9")
    await low.runner.services.features.aclose()
    (notice,) = await notices(store, low)
    assert notice.startswith("80 % of today's tokens are spent (105 / 110).")


async def test_what_only_the_operator_can_fix_is_told(store: Store) -> None:
    """A refused key, an answer that nobody will get, a refused token of the other platform."""
    refused = Step(
        error=ModelUnusable("key_refused", "GEMINI_API_KEY was refused (401): set a valid key")
    )
    harness = Harness(store, [refused], alert_to="mailbox:OPS")
    harness.box.failures = [DeliveryRefused("no such channel")]
    await harness.say("hi", "m1")
    assert await notices(store, harness) == [
        (
            "The language model refuses my key: GEMINI_API_KEY was refused (401): set a valid key. "
            "Failed turns since the last such alert: 1. “kaiwa doctor” checks every key."
        ),
        (
            "An answer could not be delivered, or a turn was given up: no such channel. Since the "
            "last such alert: 1. “kaiwa outbox list” shows them, “kaiwa outbox retry --all” tries "
            "them again."
        ),
    ]


async def test_a_refused_token_is_no_notice_by_that_way(store: Store) -> None:
    """The delivery waits for a new token; the log is all that is left."""
    harness = Harness(store, [Step("Hello")], alert_to="mailbox:OPS")
    harness.box.failures = [TokenRefused("MAILBOX_TOKEN was refused")]
    await harness.receive("hi", "m1")
    with structlog.testing.capture_logs() as logs:
        await harness.process()
    [told] = [entry["notice"] for entry in logs if entry["event"] == "alert.raised"]
    assert told.startswith("My access was refused (mailbox): MAILBOX_TOKEN was refused.")
    assert await store.outbox.head(NOTICES) is None
