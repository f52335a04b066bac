"""What a start does before anything else."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.app.runtime import check_limits
from bot.app.storage import check_format
from bot.errors import SettingsError
from bot.settings import Settings, load
from bot.store import FORMAT, Store
from bot.store.keys import FORMAT_KEY


async def test_a_new_store_gets_the_number_of_the_format(
    store: Store, redis: Redis, settings: Settings
) -> None:
    """Every later start finds it; the key never expires."""
    for _ in range(2):
        await check_format(store, settings)
    assert await redis.get(FORMAT_KEY) == b"%d" % FORMAT
    assert await redis.ttl(FORMAT_KEY) == -1


async def test_a_store_of_another_format_stops_the_start(
    store: Store, redis: Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line names the mend; the store stays as it is."""
    await redis.set(FORMAT_KEY, 99)
    with pytest.raises(SettingsError, match=r"^REDIS_URL: .* format 99, .* FLUSHDB"):
        await check_format(store, settings)
    monkeypatch.delenv("REDIS_URL")
    with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: .* format 99, .* delete it"):
        await check_format(store, load())
    assert await redis.get(FORMAT_KEY) == b"99"


def test_without_limits_only_known_people_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names the mend; the page, which is the operator's, starts."""
    check_limits(load(), admits=False)
    monkeypatch.setenv("LINE_CHANNEL_ACCESS_TOKEN", "token")
    monkeypatch.setenv("LINE_CHANNEL_SECRET", "secret")
    with pytest.raises(SettingsError, match=r"^ALLOWED_USERS: on LINE strangers .* add limits to"):
        check_limits(load(), admits=False)
    monkeypatch.setenv("ALLOWED_USERS", "U" + "1" * 32)
    check_limits(load(), admits=False)
