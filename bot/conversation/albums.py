"""Pictures that were sent together arrive one by one, and are one question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from bot.channels import InboundEvent

WAIT_S = 2.0
LOOK_S = 0.2


async def gathered(
    arrivals: Sequence[InboundEvent], more: Callable[[], Awaitable[list[InboundEvent]]]
) -> list[InboundEvent]:
    """The arrivals, with those that come in while an album's other pictures are waited for.

    Args:
        more: takes in what has arrived meanwhile.
    """
    known = list(arrivals)
    waited = 0.0
    while waited < WAIT_S and _is_incomplete(known):
        await asyncio.sleep(LOOK_S)
        waited += LOOK_S
        known += await more()
    return known


def _is_incomplete(arrivals: Sequence[InboundEvent]) -> bool:
    albums = {arrival.album: arrival.album_size for arrival in arrivals if arrival.album}
    return any(sum(arrival.album == album for arrival in arrivals) < size for album, size in albums.items())
