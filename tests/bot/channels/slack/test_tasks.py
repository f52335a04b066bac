"""What nobody waits for runs to its end, or is ended with the channel."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from bot.channels.slack.tasks import BackgroundTasks
from bot.tasks import run_beside


async def test_a_failure_is_logged_and_nothing_else() -> None:
    """Decoration must not take anything down with it."""

    async def fails() -> None:
        raise RuntimeError

    work = BackgroundTasks()
    with capture_logs() as logged:
        work.start(fails())
        await work.join()
        await work.close()
    assert [(line["event"], line["cause"]) for line in logged] == [
        ("slack.task_failed", "RuntimeError")
    ]


async def test_what_takes_too_long_is_ended_with_the_channel() -> None:
    """A shutdown does not wait for Slack."""
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    work = BackgroundTasks(grace_s=0.0)
    work.start(waits())
    await asyncio.sleep(0)
    await work.close()
    async with run_beside(waits()):
        await asyncio.sleep(0)
    assert ended == ["work", "work"]
