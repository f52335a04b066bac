"""A stand-in for Slack, and the channel in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.bot.channels.slack.rig import TS, Rig, open_rig
from tests.fakes.slack import SlackFake, slack_fake
from tests.fakes.slack_events import CHANNEL


@pytest.fixture
def fake() -> Iterator[SlackFake]:
    """The service, with somebody in it and a message to answer."""
    with slack_fake() as fake:
        fake.add_user()
        fake.add_message(CHANNEL, TS, "A question")
        yield fake


@pytest.fixture
async def rig(fake: SlackFake) -> AsyncIterator[Rig]:
    """The channel, open."""
    async with open_rig(fake) as rig:
        yield rig


@pytest.fixture
async def other(fake: SlackFake, rig: Rig) -> AsyncIterator[Rig]:
    """Another process on the same store."""
    async with open_rig(fake) as other:
        other.kv.stored = rig.kv.stored
        yield other
