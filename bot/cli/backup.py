"""``kaiwa backup`` and ``kaiwa restore``: the bundled store as a file."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import uvloop

from bot.app.storage import check_format, connect, open_url
from bot.cli.prepare import prepare
from bot.errors import SettingsError
from bot.settings import Settings
from bot.store.backup import APPENDED, restore_backup, write_backup


def backup(file: Path) -> None:
    """Write a backup, and say what it has."""
    config = _bundled()
    if not (config.kaiwa_data_dir / APPENDED).is_dir():
        raise SettingsError("KAIWA_DATA_DIR", f"{config.kaiwa_data_dir} has no store; name another")

    async def write() -> int:
        async with open_url(config, "may own") as url, connect(url, config) as store:
            await check_format(store, config)
            home = config.kaiwa_data_dir.resolve()
            return await write_backup(store.scripts.client, home, file, version("kaiwa"))

    print(f"{uvloop.run(write())} keys in {file}", file=sys.stderr)


def restore(file: Path, *, replace: bool) -> None:
    """Restore a backup, and say what the store has now."""
    config = _bundled()
    count = uvloop.run(restore_backup(file, config.kaiwa_data_dir, replace=replace))
    print(f"{count} keys in {config.kaiwa_data_dir}", file=sys.stderr)


def _bundled() -> Settings:
    """The settings of a Kaiwa with the bundled Valkey."""
    config = prepare("ERROR")
    if config.store_url:
        fix = "only the bundled Valkey is copied; back your own Redis up with its own means"
        raise SettingsError("REDIS_URL", fix)
    return config
