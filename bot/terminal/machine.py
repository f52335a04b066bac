"""What a terminal's machine tells of the person at it, and what it keeps between two runs."""

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
    """The terminal's conversation, the same in every run until a new one is asked for.

    Raises:
        SettingsError: the folder cannot be written.
    """
    file = data_dir / ID_FILE
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = file.read_text("ascii", "replace").strip() if file.exists() else ""
        if new or not ID.fullmatch(kept):
            kept = new_id("terminal")
            file.write_text(f"{kept}\n", "ascii")
    except OSError as error:
        raise SettingsError("KAIWA_DATA_DIR", f"{file} cannot be used; choose a folder that can be written") from error
    return f"console:{kept}"


def language_tag() -> str:
    """The BCP 47 tag of the system's locale, or nothing where it names no language (``C``)."""
    named = LOCALE.match(locale.setlocale(locale.LC_CTYPE))
    return "-".join(filter(None, named.groups())) if named else ""


def time_zone(localtime: Path = LOCALTIME) -> str:
    """The system's IANA time zone, or nothing where it has no name.

    Nothing for UTC too: that is where servers stand, it says nothing of the person, and ``TIMEZONE`` may know better.
    """
    name = localtime.resolve().as_posix().partition("/zoneinfo/")[2]
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return ""
    now = datetime.now().astimezone()
    # TZ may say something else than the file; then the name is not to be trusted.
    same = now.astimezone(zone).utcoffset() == now.utcoffset()
    return name if same and not name.endswith("UTC") else ""
