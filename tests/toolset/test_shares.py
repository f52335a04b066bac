"""Semaphores by owner."""

from __future__ import annotations

from toolset.shares import Shares


async def test_each_owner_has_a_share() -> None:
    """Who has used up theirs waits for nobody else's, and nobody else for them."""
    shares = Shares(1)
    async with shares.of("one"):
        assert shares.of("one").locked()
        assert not shares.of("two").locked()


async def test_an_unused_share_takes_no_memory() -> None:
    """There may be a million owners in time."""
    shares = Shares(1)
    async with shares.of("one"):
        assert len(shares) == 1
    assert len(shares) == 0
