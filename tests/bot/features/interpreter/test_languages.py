"""The languages of a group in the store."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.features.interpreter.store import KIND, LANGUAGES_S, Languages
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.store.turns import leased

HERE = "line:b:group:C1"
KEY = Keys(HERE).of(KIND)


async def test_they_live_as_long_as_people_write(store: Store, redis: Redis) -> None:
    """A message renews them, a look does not; without languages nothing is kept."""
    languages = Languages(store)
    await languages.set(HERE, "en ja")
    await redis.expire(KEY, 60)
    assert (await languages.read(HERE), await redis.ttl(KEY)) == ("en ja", 60)
    assert await languages.renew(HERE) == "en ja"
    assert LANGUAGES_S - 5 < await redis.ttl(KEY) <= LANGUAGES_S
    await languages.set(HERE, "")
    assert (await languages.read(HERE), await languages.renew(HERE)) == ("", "")
    assert not await redis.exists(KEY)


async def test_they_go_with_the_conversation_only(store: Store, redis: Redis) -> None:
    """/reset leaves them."""
    await Languages(store).set(HERE, "en ja")
    lease = await leased(store, HERE)
    await store.history.purge(lease)
    assert await redis.exists(KEY)
    await store.history.erase(lease, kinds=(KIND,), whole=False)
    assert not await redis.exists(KEY)
