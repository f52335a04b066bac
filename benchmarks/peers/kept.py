"""What is kept of messages that were acknowledged when every process of a bot is killed, and what
an event does that the platform sends again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import NamedTuple

from benchmarks.cost.__main__ import Bot
from benchmarks.whole.bench import Bench, bench
from benchmarks.whole.people import Webhook, line_webhook, slack_webhook
from benchmarks.whole.processes import calm, memory_mb
from benchmarks.whole.store import one_server
from tests.waiting import until

PEOPLE = 20
RETRIED = {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}
WEBHOOKS: dict[str, Callable[[], Webhook]] = {"LINE": line_webhook, "Slack": slack_webhook}


class Kept(NamedTuple):
    """Of one channel.

    Attributes:
        memory_mb: at rest, after the first turns.
        answered: of those whose turn was cut off, after the restart alone.
        seconds: from the restarted process's being ready until the last of these answers; 0 without
            one.
        again: of those whose turn was cut off, after their events have come a second time.
        cut_twice: of these, with two answers.
        twice: answered twice by a process that was never killed, and got each event twice.
    """

    memory_mb: float
    answered: int
    seconds: float
    again: int
    cut_twice: int
    twice: int


async def kept(bot: Bot, channel: str, people: int = PEOPLE, patience_s: float = 20) -> Kept:
    """Kill a bot with -9 while every person's turn waits for the model, and start it again.

    Args:
        patience_s: for answers that may never come.
    """
    webhook = WEBHOOKS[channel]
    cut_off, whole = ([webhook() for _ in range(people)] for _ in range(2))
    async with one_server() as store:
        async with bench(store, *bot.command, program=bot.program) as before:
            for one in whole:
                await before.exchange(*one)
            await calm(before.pids)
            memory = memory_mb(before.pids)
            await send_again(before, whole)
            await calm(before.pids)
            twice = count(before, whole, at_least=2)
            before.platforms.gate.clear()
            for one in cut_off:
                _ = await before.post(*one)  # the answer will not come
            await until(lambda: before.platforms.thinking == people)
        # All its processes are dead by now, by SIGKILL.
        async with bench(store, *bot.command, program=bot.program) as after:
            started = perf_counter()
            await answers(after, cut_off, patience_s)
            answered = count(after, cut_off)
            seconds = perf_counter() - started if answered == people else 0.0
            await send_again(after, cut_off)
            await answers(after, cut_off, patience_s)
            await calm(after.pids)
            again, cut_twice = count(after, cut_off), count(after, cut_off, at_least=2)
    return Kept(memory, answered, seconds, again, cut_twice, twice)


def count(measuring: Bench, webhooks: Sequence[Webhook], at_least: int = 1) -> int:
    """How many people have that many answers."""
    return sum(measuring.platforms.answers[one.who] >= at_least for one in webhooks)


async def answers(measuring: Bench, webhooks: Sequence[Webhook], patience_s: float) -> None:
    """Wait until everybody has one, or no longer."""
    with suppress(TimeoutError):
        await until(lambda: count(measuring, webhooks) == len(webhooks), patience_s)


async def send_again(measuring: Bench, webhooks: Sequence[Webhook]) -> None:
    """The same events, as a platform sends them whose first try met no answer."""
    for one in webhooks:
        headers = one.headers | (RETRIED if one.path.endswith("slack") else {})
        _ = await measuring.post(one.who, one.path, one.body, headers)
