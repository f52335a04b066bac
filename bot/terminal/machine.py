"""This computer: its locale and time zone, and the conversation id kept in the data folder."""

from __future__ import annotations

import locale
import os
import re
from pathlib import Path

from bot.errors import SettingsError
from bot.transcript import new_id

ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
LOCALE = re.compile(r"[a-z]{2,3}(_[A-Z]{2})?\b")
LOCALTIME = Path("/etc/localtime")


def conversation_id(data_dir: Path, *, new: bool) -> str:
    """The terminal's conversation, the same in every run until ``new``.

    Args:
        data_dir: a folder that there is.

    Raises:
        SettingsError: the folder cannot be written.
    """
    file = data_dir / "terminal-id"
    try:
        name = file.read_text("ascii", "replace").strip() if file.exists() else ""
        if new or not ID.fullmatch(name):
            name = new_id("terminal")
            file.write_text(f"{name}\n", "ascii")
    except OSError as error:
        fix = f"{file} cannot be used; choose a folder that can be written"
        raise SettingsError("KAIWA_DATA_DIR", fix) from error
    return f"console:{name}"


def language_tag() -> str:
    """The BCP 47 tag of the system's locale; empty where it names no language (``C``)."""
    named = LOCALE.match(locale.setlocale(locale.LC_CTYPE))
    return named[0].replace("_", "-") if named else ""


def time_zone(localtime: Path = LOCALTIME) -> str:
    """The system's time zone as it is named, by TZ or a link; empty where it has no name.

    Empty for UTC too: servers are set to it, wherever the person is, and ``TIMEZONE`` may be right.
    """
    linked = localtime.resolve().as_posix().partition("/zoneinfo/")[2]
    name = os.environ.get("TZ", "").removeprefix(":") or linked
    return "" if name.endswith("UTC") else name
