"""This computer: its locale and time zone, and the conversation id kept in the data folder."""

from __future__ import annotations

import locale
import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.errors import SettingsError
from bot.transcript import new_id

ID_FILE = "terminal-id"
ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
LOCALE = re.compile(r"([a-z]{2,3})(?:_([A-Z]{2}))?\b")
LOCALTIME = Path("/etc/localtime")


def conversation_id(data_dir: Path, *, new: bool) -> str:
    """The terminal's conversation, the same in every run until ``new``.

    Raises:
        SettingsError: the folder cannot be written.
    """
    file = data_dir / ID_FILE
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = file.read_text("ascii", "replace").strip() if file.exists() else ""
        if new or not ID.fullmatch(name):
            name = new_id("terminal")
            file.write_text(f"{name}\n", "ascii")
    except OSError as error:
        raise SettingsError(
            "KAIWA_DATA_DIR", f"{file} cannot be used; choose a folder that can be written"
        ) from error
    return f"console:{name}"


def language_tag() -> str:
    """The BCP 47 tag of the system's locale; empty where it names no language (``C``)."""
    named = LOCALE.match(locale.setlocale(locale.LC_CTYPE))
    return "-".join(filter(None, named.groups())) if named else ""


def time_zone(localtime: Path = LOCALTIME) -> str:
    """The system's IANA time zone; empty where it has no name.

    Empty for UTC too: servers are set to it, wherever the person is, and ``TIMEZONE`` may be right.
    """
    name = localtime.resolve().as_posix().partition("/zoneinfo/")[2]
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return ""
    now = datetime.now().astimezone()
    # TZ may differ from the file; then the name is wrong.
    same = now.astimezone(zone).utcoffset() == now.utcoffset()
    return name if same and not name.endswith("UTC") else ""
