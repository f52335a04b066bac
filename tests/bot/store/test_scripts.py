"""The scripts: found, sent once, and refused as a whole where they are refused."""

from __future__ import annotations

from importlib.resources import files

import pytest
from redis.asyncio import Redis

from bot.errors import StoreUnavailable
from bot.store import Accepted, Store, open_store
from bot.store.budget import SCRIPTS
from bot.store.scripts import NAMES
from tests.bot.store.turns import leased

HERE = "console:alice"


def test_every_lua_file_is_a_script_with_a_name() -> None:
    """None is forgotten, and none is left over."""
    names = {
        file.name for file in (files("bot.store") / "lua").iterdir() if file.name.endswith(".lua")
    }
    assert names == {f"{name}.lua" for name in (*NAMES, *SCRIPTS)} | {"shared.lua"}


def test_only_what_takes_something_in_is_refused_by_a_full_store() -> None:
    """The first line decides that, before the script changes anything."""
    first_lines = {
        name: (files("bot.store") / "lua" / f"{name}.lua").read_text().splitlines()[0]
        for name in (*NAMES, *SCRIPTS)
    }
    assert {name for name, line in first_lines.items() if line == "#!lua"} == {
        "accept",
        "remind",
        "start_poll",
        "summarise",
        "vote",
    }
    assert set(first_lines.values()) == {"#!lua", "#!lua flags=allow-oom"}


async def test_scripts_survive_a_server_that_forgets_them(store: Store, redis: Redis) -> None:
    """After a restart, or SCRIPT FLUSH, they are sent again."""
    await store.inbox.accept(HERE, "m1", b"one")
    await redis.script_flush()
    assert await store.inbox.accept(HERE, "m2", b"two")
    assert await store.leases.due(1) == [HERE]


async def test_a_script_is_sent_once(store: Store, redis: Redis) -> None:
    """Afterwards its hash is enough."""
    await redis.script_flush()
    await redis.config_resetstat()
    for number in range(5):
        await store.inbox.accept(HERE, f"m{number}", b"x")
    calls = await redis.info("commandstats")
    assert calls["cmdstat_eval"]["calls"] == 1
    assert calls["cmdstat_evalsha"]["calls"] == 5


async def test_a_mistake_in_a_script_is_no_lost_lease(store: Store) -> None:
    """Only the script's own word for it counts."""
    with pytest.raises(StoreUnavailable, match="no such key"):
        await store.outbox.replace_head(await leased(store, HERE), b"there is none")


async def test_a_host_that_does_not_tell_sizes_is_good_enough(store_url: str, redis: Redis) -> None:
    """Limits in bytes are not applied there; nothing fails, and limits in numbers hold."""
    await redis.acl_setuser(
        "plain",
        enabled=True,
        nopass=True,
        commands=["+@all", "-memory"],
        keys=["*"],
        channels=["*"],
    )
    url = (
        store_url.replace("unix://", "unix://plain@", 1)
        + ("&" if "?" in store_url else "?")
        + "password=x"
    )
    async with open_store(url, history_days=30) as store:
        for number in range(6):
            assert await store.inbox.accept(HERE, f"m{number}", b"x" * 200_000) is Accepted.NEW
        lease = await leased(store, HERE)
        await store.journal.commit(lease, b"x" * 2_000_000, [], keep_turns=3)
        await store.journal.commit(lease, b"x" * 2_000_000, [], keep_turns=3)
        assert len(await store.history.read(HERE, 3)) == 2
    await redis.acl_deluser("plain")
