"""A day's counters on a Redis Cluster."""

from __future__ import annotations

from collections import Counter as Counts

from bot.store import Counter, Day, Spent, Totals, open_store
from tests.cluster import Cluster


async def test_a_days_counters_lie_wherever_their_names_do(cluster: Cluster) -> None:
    """Users, conversations and the whole bot: counted and read as on one server."""
    async with open_store(cluster.url, history_days=30) as store:
        users = [Counter("user", f"line:U{number}", message_limit=1) for number in range(9)]
        for turn, is_within in (("t1", True), ("t2", False)):
            for user in users:
                assert await store.budget.take("2026-11-21", turn, user, 1) == is_within
        await store.budget.count("2026-11-21", "t3", dict.fromkeys(users, 1), tokens=5)
        totals = Totals(
            Counts({"tokens": 5, "input m": 5}), Counts({"line:U1": 5}), Counts({"line:C1": 5})
        )
        total = await store.budget.add_up("2026-11-21", totals)
        assert total == 5
        store.budget.prefetch("2026-11-21", "t3", users)
        assert await store.budget.read("2026-11-21", "t3", users) == (
            5,
            [Spent(2, 5, is_counted=True)] * 9,
        )
        assert await store.budget.days(["2026-11-21"]) == [
            Day({"tokens": 5, "input m": 5}, {"line:U1": 5}, {"line:C1": 5})
        ]
