"""The store that the settings name: the operator's Redis, or the bundled Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bot.errors import SettingsError, StoreUnavailable
from bot.settings import Settings
from bot.store import FORMAT, Store, open_store
from bot.store.embedded import Part, open_embedded
from bot.store.files import FILES_BYTES, OWN_SERVER_FILES_BYTES

START_TRIES = 4  # pings of the store at start, one a second


@asynccontextmanager
async def open_url(settings: Settings, part: Part = "connects") -> AsyncIterator[str]:
    """The URL of the Redis to use: the operator's, or the bundled Valkey.

    Args:
        part: what this process may do with the bundled Valkey.
    """
    if settings.store_url:
        yield settings.store_url
    else:
        async with open_embedded(settings.kaiwa_data_dir, part) as url:
            yield url


@asynccontextmanager
async def open_store_of(settings: Settings) -> AsyncIterator[Store]:
    """Only the store, for commands that need nothing else.

    Raises:
        StoreUnavailable: neither REDIS_URL is set nor does a Kaiwa run with this folder.
    """
    async with open_url(settings) as url, connect(url, settings) as store:
        yield store


def connect(url: str, settings: Settings) -> AbstractAsyncContextManager[Store]:
    """The store at a URL, which may not answer yet."""
    return open_store(
        url,
        history_days=settings.history_days,
        max_connections=settings.store_connections,
        files_bytes=OWN_SERVER_FILES_BYTES if settings.store_url else FILES_BYTES,
    )


async def wait_for(store: Store) -> None:
    """Wait for a store that is still starting, but only briefly: the address may be wrong."""
    for tries_left in reversed(range(START_TRIES)):
        try:
            await store.ping()
        except StoreUnavailable:
            if not tries_left:
                raise
            await asyncio.sleep(1)
        else:
            return


async def check_format(store: Store, settings: Settings) -> None:
    """Check that the store is kept in the format of this version.

    Raises:
        SettingsError: it has another one, which this version cannot read.
    """
    if (found := await store.note_format()) == FORMAT:
        return
    other = f"holds data in format {found}, and this version uses format {FORMAT}"
    if settings.store_url:
        fix = "empty it with redis-cli FLUSHDB, or name another database"
        raise SettingsError("REDIS_URL", f"the store {other}; {fix}")
    fix = "delete it while no Kaiwa runs, or name another one"
    raise SettingsError("KAIWA_DATA_DIR", f"the folder {settings.kaiwa_data_dir} {other}; {fix}")
