"""Every test of the store runs on both servers, with both protocols, that Kaiwa may meet; ``make
quick`` takes the bundled one."""

from __future__ import annotations

import pytest

OTHER = pytest.param("redis, RESP3", marks=[pytest.mark.long, pytest.mark.other_server])


@pytest.fixture(params=["valkey", OTHER])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where ``store`` is: one server after the other."""
    server, _, protocol = request.param.partition(", RESP")
    url: str = request.getfixturevalue(f"{server}_url")
    return f"{url}?protocol={protocol}" if protocol else url
