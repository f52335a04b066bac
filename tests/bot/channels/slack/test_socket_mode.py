"""Without a public address the same events come over a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from tests.bot.channels.slack.rig import QUICK, TS, Rig, open_rig
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import USER, command, envelope, mention
from tests.waiting import until

OPEN = "apps.connections.open"


@pytest.fixture
async def rig(fake: SlackFake) -> AsyncIterator[Rig]:
    """Bot and app token alone."""
    async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN) as rig:
        await until(lambda: fake.connected == 1)
        yield rig


async def acknowledged(fake: SlackFake, envelope_id: str) -> None:
    await until(lambda: envelope_id in fake.acknowledged)


async def test_an_event_is_acknowledged_once_it_is_kept(fake: SlackFake, rig: Rig) -> None:
    """While the store is away it is not, so Slack sends it again."""
    rig.inbox.away = True
    lost = fake.send(mention("Hello", TS))
    unknown = fake.send(envelope({"type": "unknown"}))
    await acknowledged(fake, unknown)
    assert lost not in fake.acknowledged
    rig.inbox.away = False
    again = fake.send(mention("Hello", TS))
    await acknowledged(fake, again)
    assert rig.inbox.words == ["Hello"]


async def test_commands_and_interactions_come_the_same_way(fake: SlackFake, rig: Rig) -> None:
    """One path for all."""
    await acknowledged(fake, fake.send(command("help"), "slash_commands"))
    await acknowledged(
        fake, fake.send({"type": "block_actions", "user": {"id": USER}}, "interactive")
    )
    await acknowledged(fake, fake.send({"type": "event_callback", "event": 5}))
    assert rig.inbox.words == ["help"]


@pytest.mark.parametrize("how", ["asked", "dropped"])
async def test_a_lost_connection_is_made_anew(fake: SlackFake, rig: Rig, how: str) -> None:
    """Slack asks for it every few hours, networks do not ask."""
    if how == "asked":
        fake.ask_to_reconnect()
    else:
        fake.drop_sockets()
    await until(lambda: fake.opened >= 2 and fake.connected >= 1)
    await acknowledged(fake, fake.send(mention("Still there?", TS)))
    assert rig.inbox.words == ["Still there?"]


async def test_a_refused_app_token_is_said_and_tried_again(fake: SlackFake) -> None:
    """Naming the variable, never the value; a start never waits for it."""
    fake.fail(OPEN, "invalid_auth")
    with capture_logs() as logged:
        async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN):
            await until(lambda: fake.connected == 1)
    assert {
        "event": "slack.socket_refused",
        "cause": "invalid_auth",
        "log_level": "error",
    } in logged
    assert APP_TOKEN not in str(logged)


async def test_an_address_that_does_not_work_is_not_tried_for_ever(fake: SlackFake) -> None:
    """A ticket that has expired is replaced, which the SDK alone would never do."""
    fake.spoil_tickets = 1
    async with open_rig(
        fake,
        slack_signing_secret="",
        slack_app_token=APP_TOKEN,
        timing=replace(QUICK, ticket_s=0.05),
    ):
        await until(lambda: fake.connected == 1)
    assert len(fake.called(OPEN)) == 2


async def test_a_channel_that_never_connected_closes_all_the_same(fake: SlackFake) -> None:
    """And at once."""
    fake.break_down(OPEN, times=100)
    async with open_rig(fake, slack_signing_secret="", slack_app_token=APP_TOKEN):
        await until(lambda: bool(fake.called(OPEN)))
