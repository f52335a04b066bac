"""The scripts: found, sent once, and refused as a whole where they are refused."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.clock import DAY_S
from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Accepted, Store, open_store
from bot.store.clients import Scripts, connect, read_script
from bot.store.keys import Keys
from tests.bot.store.turns import leased
from tests.project import ROOT
from tests.scripts import SCRIPT_FILES, SCRIPT_NAMES

HERE = "console:alice"


MOST_SCRIPTS = 29


def test_all_lua_is_in_files() -> None:
    """They are few, and each is found by its name."""
    assert len(SCRIPT_NAMES) <= MOST_SCRIPTS
    assert [
        one.name for one in (ROOT / "bot").rglob("*.py") if "redis.call" in one.read_text()
    ] == []


@pytest.mark.parametrize("name", SCRIPT_NAMES)
def test_a_script_says_what_it_does_and_what_it_gets(name: str) -> None:
    """A sentence, its keys and its arguments; only the two with any number of keys have no names
    for these."""
    _, sentence, *_ = SCRIPT_FILES[name].read_text("utf-8").splitlines()
    assert sentence.startswith("-- ")
    script = read_script(name, DAY_S)
    assert bool(script.keys) is (name not in {"renew", "transaction"})
    assert bool(script.arguments) is (name not in {"renew", "transaction", "compact"})


def test_only_what_is_declared_is_sent(store_url: str) -> None:
    """A key or an argument too few is a mistake of ours, found before Redis sees it."""
    scripts = Scripts(connect(store_url, 1), DAY_S)
    with pytest.raises(TypeError, match="replace_head: 1 keys, 2 arguments"):
        scripts.command("replace_head", ["kaiwa:{00}:lease:x"], ["token", b"delivery"])
    with pytest.raises(TypeError, match=r"polls\.show: 1 keys, 0 arguments"):
        scripts.command("polls.show", ["kaiwa:{00}:poll:x"])


def test_only_what_comes_from_outside_is_refused_by_a_full_store() -> None:
    """And traces, which nobody waits for. The first line decides that, before the script changes
    anything."""
    first_lines = {name: read_script(name, DAY_S).text.splitlines()[0] for name in SCRIPT_NAMES}
    assert {name for name, line in first_lines.items() if line == "#!lua"} == {
        "accept",
        "feedback.rate",
        "polls.vote",
        "traces.note",
        "traces.words",
    }
    assert {name for name, line in first_lines.items() if line == "#!lua flags=no-writes"} == {
        "due"
    }


async def test_a_transaction_is_carried_out_whole_or_under_its_lease_only(store: Store) -> None:
    """Each command has its reply."""
    lease, history = await leased(store, HERE), Keys(HERE).history
    scripts = Scripts(store.scripts.client, DAY_S)
    pushes = [("RPUSH", history, "one"), ("EXPIRE", history, 60), ("LRANGE", history, 0, -1)]
    await scripts.transact(pushes, HERE, lease.token)
    assert await scripts.transact([pushes[-1]], is_read=True) == [[b"one"]]
    with pytest.raises(LeaseLost):
        await scripts.transact(pushes, HERE, "another's")
    assert await store.history.read(HERE, 9) == [b"one"]


async def test_scripts_survive_a_server_that_forgets_them(store: Store, redis: Redis) -> None:
    """After a restart, or SCRIPT FLUSH, they are sent again."""
    await store.inbox.accept(HERE, "m1", b"one")
    await redis.script_flush()
    assert await store.inbox.accept(HERE, "m2", b"two")
    assert await store.leases.due(1) == [HERE]


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
