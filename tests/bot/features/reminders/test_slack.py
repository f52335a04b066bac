"""Reminders as people see them in Slack."""

from __future__ import annotations

from bot.store import Store
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS
from tests.fakes.slack import slack_fake
from tests.fakes.slack_events import CHANNEL, TEAM, USER, mention


async def test_the_reminders_of_somebody_in_a_channel_are_for_their_eyes(store: Store) -> None:
    """The thread neither shows nor keeps them."""
    with slack_fake() as fake:
        fake.add_user()
        fake.add_message(CHANNEL, TS, "A question")
        async with SlackPipeline(store, fake) as here:
            await here.send(mention("/reminders", TS))
        [listed] = fake.whispered
        assert (listed["user"], listed["thread_ts"], fake.posted) == (USER, TS, [])
    assert await store.history.read(f"slack:{TEAM}:{CHANNEL}:{TS}", 10) == []
