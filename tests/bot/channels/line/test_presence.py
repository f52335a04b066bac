"""While a turn runs, the chat shows it; and whatever goes wrong with that, the turn does not
notice."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from bot.channels.line.channel import LOADING_S, show_running
from bot.channels.line.client import Client
from bot.channels.line.types import Address, Chat, chat_of, read_address
from bot.live_events import TurnStarted
from bot.tasks import run_beside
from bot.transcript import encode
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, Rig, line_config
from tests.fakes.line import LineFake
from tests.fakes.line_events import USER
from tests.fakes.serving import serving
from tests.waiting import until

READ = encode(Address(mark_as_read_token="read")).decode()


@pytest.mark.long
async def test_alone_with_the_bot_one_sees_it_think(fake: LineFake, rig: Rig) -> None:
    """The message is marked as read, and the loading animation is shown."""
    async with rig.line.live_view(IN_PRIVATE, READ) as watcher:
        await watcher.show(TurnStarted("turn_1", ("1",)))
        await until(lambda: bool(fake.loading))
    assert (fake.read, fake.loading) == (["read"], [(USER, LOADING_S)])


async def test_the_animation_is_kept_alive_until_the_turn_ends(fake: LineFake) -> None:
    """LINE ends it after so many seconds by itself."""
    async with Client(line_config(fake.base_url)) as api:
        showing = show_running(api, chat_of(IN_PRIVATE), Address(), 0.01, 0.0)
        async with run_beside(showing):
            await until(lambda: len(fake.loading) >= 3)
    assert fake.read == []


async def test_the_connection_is_used_again() -> None:
    """An answer that nobody reads to its end would close it."""
    connections: list[object] = []

    async def answer_slowly(request: web.Request) -> web.StreamResponse:
        connections.append(request.transport)
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(0.05)
        await response.write(b"{}")
        return response

    application = web.Application()
    application.router.add_post("/{path:.*}", answer_slowly)
    with serving(application) as url:
        async with Client(line_config(url)) as api:
            await api.mark_as_read("read")
            await api.start_loading(USER, 20)
            await api.mark_as_read("read")
    assert (len(connections), len(set(connections))) == (3, 1)


async def test_a_group_sees_no_animation(fake: LineFake, rig: Rig) -> None:
    """LINE shows it to one person only; read is read."""
    async with rig.line.live_view(IN_GROUP, READ):
        await until(lambda: bool(fake.read))
    assert [request.call for request in fake.requests] == ["mark"]


async def test_failures_are_nobodys_business(fake: LineFake) -> None:
    """A token of another channel, an animation that is refused: the turn goes on."""
    fake.fail("mark", 400, "Invalid token")
    fake.fail("loading", 400, "An invalid chat ID is specified", times=9)
    async with Client(line_config(fake.base_url)) as api:
        await show_running(api, chat_of(IN_PRIVATE), read_address(READ), 0.01, 0.0)
    assert (fake.read, fake.loading) == ([], [])


async def test_a_turn_waits_for_nothing_of_it(fake: LineFake, rig: Rig) -> None:
    """LINE is silent: the turn ends nevertheless, and so does the request."""
    fake.trouble("mark", "stalled")
    async with rig.line.live_view(IN_PRIVATE, READ):
        await until(lambda: bool(fake.calls("mark")))
    assert fake.loading == []


def test_an_absent_address_is_an_address() -> None:
    """Of words that nobody asked for."""
    assert read_address("") == Address()
    assert chat_of("line:Ub:group:C:1") == Chat("Ub", "group", "C:1")
    assert chat_of(IN_GROUP).conversation == IN_GROUP
