"""What the doctor is told of the traffic."""

from __future__ import annotations

import asyncio

import pytest

from bot.channels.traffic import (
    Traffic,
    TrafficRecorder,
    read_traffic,
)
from tests.bot.channels.line.rig import NOW, Rig
from tests.fakes.kv import LocalKeyValue
from tests.fakes.line import LineFake
from tests.fakes.line_events import event, text_message, webhook
from tests.waiting import until


async def test_webhooks_deliveries_and_bad_signatures_are_noted(fake: LineFake, rig: Rig) -> None:
    """With the times of the last ones, off the path of a webhook."""
    await rig.receive(event(message=text_message("hi")))
    for _ in range(3):
        assert await rig.post(*webhook(secret="another")) == 400
    rig.now += 5_000
    await rig.deliver("Hi!", rig.address(fake.token()))
    await rig.line.__aexit__()
    assert await read_traffic(rig.notes, "line") == Traffic(NOW, NOW + 5_000, 3, NOW)


async def test_refusals_and_redeliveries_are_noted(rig: Rig) -> None:
    """A refusal is written when the store is back: it is the store that was away."""
    again = event(message=text_message("hi"), deliveryContext={"isRedelivery": True})
    rig.away = rig.notes.away = True
    assert await rig.post(*webhook(event(message=text_message("hi")))) == 503
    rig.away = rig.notes.away = False
    rig.now += 60_000
    await rig.receive(again)
    await rig.line.__aexit__()
    assert await read_traffic(rig.notes, "line") == Traffic(
        last_webhook=NOW + 60_000, last_refused=NOW, last_redelivery=NOW + 60_000
    )


@pytest.mark.long
async def test_what_happens_later_is_written_too(rig: Rig) -> None:
    """When the first writing is long over."""
    before = asyncio.all_tasks()
    records = TrafficRecorder(rig.notes, "line", "LINE_CHANNEL_SECRET")
    records.record("webhook", 1)
    await until(lambda: rig.notes.stored.get("line:last_webhook") == b"1")
    records.record("webhook", 2)
    await until(lambda: rig.notes.stored.get("line:last_webhook") == b"2")
    await until(lambda: asyncio.all_tasks() <= before)
    records.record("webhook", 3)
    await until(lambda: rig.notes.stored.get("line:last_webhook") == b"3")
    await records.aclose()


async def test_counts_of_several_processes_add_up() -> None:
    """Each adds its own to what stands there."""
    notes = LocalKeyValue()
    for _ in range(2):
        records = TrafficRecorder(notes, "line", "LINE_CHANNEL_SECRET")
        records.record("bad_signature", NOW)
        await records.aclose()
    assert (await read_traffic(notes, "line")).bad_signatures == 2
