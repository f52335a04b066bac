"""Two processes deliver one answer, because the first was paused for longer than its lease: it is
posted once."""

from __future__ import annotations

from functools import partial

import pytest
from redis.asyncio import Redis

from bot.errors import LeaseLost
from bot.store import Store
from tests.bot.channels.slack.rig import THREAD, Rig, delivery
from tests.bot.store.turns import key, leased
from tests.fakes.slack import SlackFake


async def test_whoever_slept_after_looking_in_vain_posts_nothing(
    store: Store, redis: Redis, fake: SlackFake, rig: Rig
) -> None:
    """The other process posts between the look and the second post."""
    lost = await leased(store, THREAD)

    async def slept() -> None:
        if await redis.delete(key("lease", THREAD)):
            held = await leased(store, THREAD)
            await rig.slack.deliver(THREAD, delivery(attempts=3), partial(store.leases.renew, held))
        await store.leases.renew(lost)

    with pytest.raises(LeaseLost):
        await rig.slack.deliver(THREAD, delivery(attempts=2), slept)
    assert [posted["markdown_text"] for posted in fake.posted] == ["Hello"]
