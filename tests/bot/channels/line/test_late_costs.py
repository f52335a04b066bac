"""What late answers cost a turn that is in time: nothing."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.providers.scripted import Step
from bot.store import open_store
from bot.store.scripts import NAMES
from tests.bot.channels.line.late_turns import ignore, question
from tests.bot.channels.line.pipeline import open_pipeline
from tests.crash.simulation import HISTORY_DAYS, SCRIPTS
from tests.fakes.cut_wire import Cut, CutWire
from tests.fakes.line import LineFake

SCRIPTS_OF_A_TURN = {"accept", "open", "commit", "remove_head"}


@pytest.mark.parametrize("push", ["auto", "never"])
async def test_a_turn_in_time_makes_no_further_request(redis: Redis, store_url: str, fake: LineFake, push: str) -> None:
    """One script for each step, as without late answers."""
    wire = CutWire(store_url, Cut(), SCRIPTS, ignore)
    async with (
        wire.open() as url,
        open_store(url, history_days=HISTORY_DAYS) as store,
        open_pipeline(store, fake, [Step("Hi!")] * 2, line_push=push) as here,
    ):
        await here.hear(question(fake))
        wire.requests.clear()
        await here.hear(question(fake))
    made = [name for name in wire.requests if name in NAMES]
    assert sorted(made) == sorted(SCRIPTS_OF_A_TURN)
    assert wire.requests.count("LRANGE") <= 1  # a look at the inbox, where the turn took more than a moment
    assert fake.texts == [["Hi!"]] * 2
