"""Every test of the store runs on each server that Kaiwa may meet; ``make quick`` takes the bundled
one."""

from __future__ import annotations

import pytest

OTHERS = [
    pytest.param(server, marks=[pytest.mark.long, pytest.mark.other_server])
    for server in ("valkey, RESP3", "redis")
]


@pytest.fixture(params=["valkey", *OTHERS])
def store_url(request: pytest.FixtureRequest) -> str:
    """Where ``store`` is: one server after the other."""
    server, _, protocol = request.param.partition(", RESP")
    url: str = request.getfixturevalue(f"{server}_url")
    return f"{url}?protocol={protocol}" if protocol else url
