"""Every test of the store runs on each server that Kaiwa may meet."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["valkey", "valkey, RESP3", "redis"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where ``store`` is: one server after the other."""
    server, _, protocol = request.param.partition(", RESP")
    url: str = request.getfixturevalue(f"{server}_url")
    return f"{url}?protocol={protocol}" if protocol else url
