"""The rig on an empty store."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.store import Store
from tests.crash.rig import CrashRig


@pytest.fixture
def rig(store: Store, redis: Redis, store_url: str) -> CrashRig:
    """What the conversations of a test share."""
    return CrashRig(store, redis, store_url)
