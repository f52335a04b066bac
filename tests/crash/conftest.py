"""The rig on an empty store."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.pipeline import accept
from bot.store import Store, boxes, server
from tests.crash.rig import CrashRig

BUSY_S = 60.0


@pytest.fixture(autouse=True)
def patient_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that a busy machine keeps waiting is not away: only what these tests cut is."""
    for module in (accept, boxes, server):
        monkeypatch.setattr(module, "ANSWER_S", BUSY_S)


@pytest.fixture
def rig(store: Store, redis: Redis, store_url: str) -> CrashRig:
    """What the conversations of a test share."""
    return CrashRig(store, redis, store_url)
