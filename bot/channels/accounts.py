"""The ``[[account]]`` tables of the file PLACES: each is a channel's ``Config``, whose secrets are
in variables that the table names.

What a table does not set has the default of the ``Config``: the variables of the only account are
not an account's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr

from bot.errors import SettingsError
from bot.place_file import PlaceFile, Sources, Table, parse, read_sources
from bot.settings import Settings, env_file_values, environment_value
from toolset.offer.rules import WILD

ACCOUNT = re.compile(r"^\s*\[\[\s*[\"']?account", re.MULTILINE)
NAME = re.compile(r"[a-z0-9-]{1,30}")
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{1,99}")
FIX_OF_NAME = "write a name of your own, of a-z, 0-9 and -, at most 30 characters"
NO_VALUE = "write the name of a variable, as SHOP_TOKEN, never the secret itself"
NO_TABLES = PlaceFile(Sources("", "", {}), (), ())
MEMBERS = "KAIWA_MEMBERS"  # the folder of the processes that share a port
FIX_OF_VARIABLE = "the variable that it names is not set, in the environment or in .env"


def _tables(settings: Settings) -> PlaceFile:
    """The file with which this process has begun, or the processes that share its port."""
    if settings.places is None:
        return NO_TABLES
    return _read(settings.places, *_kept(settings))


@lru_cache(maxsize=4)
def _read(path: Path, kept: Path, shared: Path | None = None) -> PlaceFile:
    """The file; where it is broken, the one with which Kaiwa has begun last."""
    try:
        if shared and shared.is_file():
            return parse(Sources(path.name, shared.read_text("utf-8"), {}))
        return parse(read_sources(path))
    except SettingsError:
        text = kept.read_text("utf-8") if kept.is_file() else ""
        if ACCOUNT.search(text):
            return parse(Sources(path.name, text, {}))
        # Without accounts it may have begun elsewhere: places look into the store.
        if not path.is_file() or ACCOUNT.search(path.read_text("utf-8", "replace")):
            raise
        return parse(Sources(path.name, "", {}))


def _kept(settings: Settings) -> list[Path]:
    """Where the file is kept: for the next start, and for processes that join this one or take its
    place."""
    shared = environment_value(MEMBERS)
    folders = [settings.kaiwa_data_dir, *([Path(shared)] if shared else [])]
    return [folder / "accounts.toml" for folder in folders]


def keep_accounts(settings: Settings) -> None:
    """Keep the file for a process that begins while it is broken, or has changed while others go on
    with it. It holds no secret."""
    if settings.places is None:
        return
    text = _tables(settings).sources.text
    for kept in _kept(settings):
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            new = kept.with_name(f"{kept.name}.{os.getpid()}")
            new.write_text(text, "utf-8")
            new.replace(kept)


def read_accounts(
    settings: Settings, configs: Mapping[str, type[BaseModel]]
) -> Iterator[tuple[str, str, Any]]:
    """The platform, the name and the ``Config`` of each account, in the order of the file.

    Args:
        configs: the ``Config`` of each platform.

    Raises:
        SettingsError: a table is wrong; it names its line, the field and the fix.
    """
    file, seen = _tables(settings), set[tuple[str, str]]()
    for table in file.accounts:
        platform, name = table.values.get("platform"), table.values.get("name")
        if not isinstance(platform, str) or platform not in configs:
            raise file.wrong(table, "platform", f"write {' or '.join(configs)}")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise file.wrong(table, "name", FIX_OF_NAME)
        if (platform, name) in seen:
            fix = f"another table has this name and its path /webhooks/{platform}/{name}; change it"
            raise file.wrong(table, "name", fix)
        seen.add((platform, name))
        yield platform, name, _config(file, table, configs[platform])


def variables_of(settings: Settings) -> set[str]:
    """The variables that tables name."""
    values = [value for table in _tables(settings).accounts for value in table.values.values()]
    nested = [one for value in values if isinstance(value, dict) for one in value.values()]
    return {one for one in [*values, *nested] if isinstance(one, str) and VARIABLE.fullmatch(one)}


def named_conversations(settings: Settings) -> list[str]:
    """The conversations that ``[[place]]`` tables name by their ids."""
    places = _tables(settings).places
    given = [table.values.get("conversation") for table in places]
    ids = [one for each in given for one in (each if isinstance(each, list) else [each])]
    return [one for one in ids if isinstance(one, str) and not any(sign in one for sign in WILD)]


def _config(file: PlaceFile, table: Table, config: type[BaseModel]) -> BaseModel:
    values = {key: one for key, one in table.values.items() if key not in ("platform", "name")}
    for key, value in values.items():
        field = config.model_fields.get(key)
        if field and field.annotation is SecretStr:
            values[key] = _secret(file, table, key, value)
        elif isinstance(value, dict):
            values[key] = {of: _secret(file, table, key, one) for of, one in value.items()}
    strict: Any = type(config.__name__, (config,), {"model_config": ConfigDict(extra="forbid")})
    try:
        found: BaseModel = file.checked(table, strict, values)
    except SettingsError as error:
        if error.variable == "PLACES":
            raise
        raise file.wrong(table, error.variable.lower(), error.fix) from None
    if not getattr(found, "is_on", False):
        raise file.wrong(table, "", "has no secret; write the fields that name its variables")
    return found


def _secret(file: PlaceFile, table: Table, key: str, name: Any) -> str:
    """The value of a variable."""
    if not isinstance(name, str) or not VARIABLE.fullmatch(name):
        raise file.wrong(table, key, NO_VALUE)
    value = environment_value(name) or env_file_values().get(name, "")
    if not value:
        raise file.wrong(table, key, FIX_OF_VARIABLE)
    return value
