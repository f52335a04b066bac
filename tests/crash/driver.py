"""A scenario run with a crash at each of its requests, and what has to be true afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from tests.crash.evidence import Ending, Record, ending_of, owed, record_of
from tests.crash.rig import CrashRig
from tests.crash.simulation import Conversation, Process, Scenario
from tests.fakes.cut_wire import Cut

AT_A_TIME = 6


async def crash_at_every_request(scenario: Scenario, rig: CrashRig, *, carried_out: bool) -> Ending:
    """Run the scenario once undisturbed, and once for each of its requests, at which its process
    dies.

    Args:
        carried_out: the request still is.

    Returns:
        What becomes of it undisturbed.
    """

    async def dies(point: int) -> bool:
        return await run_with_crash(
            Conversation(f"mailbox:{point}", scenario, rig), Cut(point, carried_out), undisturbed
        )

    undisturbed, requests = await run_uninterrupted(
        Conversation("mailbox:0", scenario, rig), Cut(0, carried_out)
    )
    points = list(range(1, requests + 2))
    deaths = 0
    while all(died := await at_each(points, dies)):
        deaths += sum(died)
        points = [points[-1] + 1]  # it has looked once more for what it has waited for
    deaths += sum(died)
    assert deaths >= 3
    return undisturbed


async def at_each(points: Iterable[int], doing: Callable[[int], Awaitable[bool]]) -> list[bool]:
    """Some at a time: with all of them the store would seem to be away."""
    places = asyncio.Semaphore(AT_A_TIME)

    async def one(point: int) -> bool:
        async with places:
            return await doing(point)

    return await asyncio.gather(*(one(point) for point in points))


async def run(conversation: Conversation, cut: Cut) -> tuple[Process, Record, Process]:
    """The process that may die, what it has left on record, and the process after it."""
    scenario = conversation.scenario
    if scenario.earlier:
        await conversation.receive(*scenario.earlier)
        await conversation.process()
    before = await record_of(conversation)
    await conversation.receive(*scenario.spoken)
    conversation.to_come = list(scenario.during)
    first = await conversation.process(cut)
    record = await record_of(conversation)
    assert await conversation.will_be_found()
    await conversation.receive(*scenario.afterwards)
    await conversation.expire()
    return first, record.since(before), await conversation.process()


async def run_uninterrupted(conversation: Conversation, never: Cut) -> tuple[Ending, int]:
    """What becomes of the scenario where nobody dies, as if the last process had done all of it;
    and its requests."""
    first, record, last = await run(conversation, never)
    assert conversation.to_come == []
    ending = await ending_of(conversation, last, record)
    ending = replace(
        ending, asked=first.asked + last.asked, called=sorted(first.called + last.called)
    )
    return ending, len(first.requests)


async def run_with_crash(conversation: Conversation, cut: Cut, undisturbed: Ending) -> bool:
    """Whether there was one; then everything must be as if there had been none."""
    first, record, last = await run(conversation, cut)
    if not first.is_dead:
        return False
    where = f"{conversation.name}, {' '.join(first.requests)}"
    due = owed(undisturbed, record, more_to_come=bool(conversation.scenario.afterwards))
    ending = await ending_of(conversation, last, record)
    assert ending == due, f"{where}\n{ending}\n{due}"
    assert first.asked - len(record.spoken) - record.void in (0, 1), (
        where
    )  # one question may have been without its answer
    assert set(first.called) <= set(undisturbed.called), where
    assert max(Counter(first.called).values(), default=0) <= 1, where
    assert all(record.outbox.get(delivery.id, 1) for delivery in first.delivered), (
        where
    )  # known to have been tried
    return True
