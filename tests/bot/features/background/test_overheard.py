"""Messages that do not call the bot, where the background and ``bot.features.interpreter`` both
take them in."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.line.pipeline import open_pipeline
from tests.bot.channels.line.rig import IN_GROUP
from tests.bot.store.turns import key
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, message_id

TARO = "U" + "2" * 32


def text_event(fake: LineFake, text: str) -> JSON:
    """Somebody says something to the others."""
    return fake.text(text, GROUP, TARO)


async def test_background_is_kept_beside_translations(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """One request of the webhook's to the store does both."""
    async with open_pipeline(store, fake, [Step("<hello>")], group_memory="on") as here:
        await here.converse(fake.mention("/interpret en ja"))
        fake.sent.clear()
        await here.converse(text_event(fake, "hello"))
    assert fake.texts == [["<hello>"]]
    assert await redis.zcard(key("background", IN_GROUP)) == 1


async def test_an_unmentioned_message_costs_one_request(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """Whether it is kept or not; one without words costs none."""
    picture = {"id": message_id(), "type": "image", "contentProvider": {"type": "line"}}
    for memory, kept in (("off", 0), ("on", 4)):
        async with open_pipeline(store, fake, [], group_memory=memory) as here:
            await redis.config_resetstat()
            await here.receive(text_event(fake, "hello"), fake.event(place=GROUP, message=picture))
            stats = await redis.info("commandstats")
            assert stats["cmdstat_getex"]["calls"] == 1  # of the interpreter's languages
            assert stats.get("cmdstat_zadd", {"calls": 0})["calls"] == kept  # with the index
            assert here.due == []
