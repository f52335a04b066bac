"""``kaiwa run --no-worker`` and ``kaiwa worker`` on a Redis Cluster."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import RedisCluster

from tests.cluster import Cluster
from tests.fakes.gemini import KEY, GeminiFake
from tests.fixtures_store import endless_keys
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.waiting import until

TALK = "conversation-1"


async def test_messages_are_answered_also_after_an_outage(
    tmp_path: Path, gemini: GeminiFake, cluster: Cluster
) -> None:
    """Of the whole cluster, which neither process survives by itself; connections stay few."""
    gemini.say("one")
    gemini.say("two")
    variables = {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "REDIS_URL": cluster.url,
    }

    async with (
        kaiwa(tmp_path, "run", "--no-worker", **variables) as running,
        kaiwa(tmp_path, "worker", ready=WORKING, **variables) as worker,
    ):
        await running.say(TALK, "Hello")
        assert await running.answers(TALK, 1) == ["one"]
        assert max(node.clients() for node in cluster.nodes) <= 12
        with cluster.away():
            assert await running.get("/readyz") == 503
            await until(lambda: bool(worker.log("sweep.failed")))
        await running.ready(10)
        await running.say(TALK, "Hello again")
        assert await running.answers(TALK, 2) == ["one", "two"]
        assert (await running.stop(), await worker.stop()) == (0, 0)
    async with RedisCluster.from_url(cluster.url.replace("+cluster", "")) as redis:
        assert await endless_keys(redis) == []
