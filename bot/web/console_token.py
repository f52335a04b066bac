"""The generated token of the page, for a server behind webhooks where CONSOLE_TOKEN is not set."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from contextlib import closing
from pathlib import Path

from bot.errors import SettingsError

# A generated token has 43 characters; the operator may edit the file.
WHOLE = re.compile(rb"[!-~]{16,}\n?")


def load_or_create_token(path: Path) -> str:
    """Read the token from its file, or generate one; processes that start at once get the same.

    Raises:
        SettingsError: the file cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with closing(os.fdopen(file, "r+b", buffering=0)) as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            os.fchmod(file, 0o600)
            token = opened.read()
            if not WHOLE.fullmatch(token):
                # The file is new, or incomplete after a power failure.
                token = secrets.token_urlsafe(32).encode() + b"\n"
                opened.seek(0)
                opened.truncate()
                opened.write(token)
                os.fsync(file)
    except OSError as error:
        fix = (
            f"{path} cannot be written ({error.strerror}); choose another folder, or set "
            "CONSOLE_TOKEN"
        )
        raise SettingsError("KAIWA_DATA_DIR", fix) from error
    return token.decode().strip()
