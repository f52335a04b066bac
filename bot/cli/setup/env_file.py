"""Writes values into ``.env``, which stays whole whatever happens."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from dotenv.parser import Binding, parse_stream

from bot.errors import SettingsError
from bot.settings import ENV_FILE


def write_values(values: Mapping[str, str], path: Path = ENV_FILE) -> None:
    """Set values in the file and keep its other lines; nobody else may read it afterwards.

    Args:
        values: without blanks, quotes and signs that the form of the file gives a meaning.

    Raises:
        SettingsError: the file cannot be written; the old one is as it was.
    """
    path = path.resolve()  # a link stays one
    try:
        old = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        _replace(path, _with_values(old, values).encode("utf-8", "surrogateescape"))
    except OSError as error:
        fix = f"cannot be written ({error.strerror}); may you write in {path.parent}?"
        raise SettingsError(".env", fix) from error


def _with_values(text: str, values: Mapping[str, str]) -> str:
    pieces, written = [], set()
    for binding in parse_stream(io.StringIO(text, newline="")):
        name = (binding.key or "").upper()
        if name in values:
            written.add(name)
            pieces.append(_changed(binding, name, values[name]))
        else:
            pieces.append(binding.original.string)
    kept = "".join(pieces)
    if kept and not kept.endswith(("\n", "\r")):
        kept += "\n"
    return kept + "".join(f"{name}={values[name]}\n" for name in values if name not in written)


def _changed(binding: Binding, name: str, value: str) -> str:
    """A line with another value; blank lines before it belong to it."""
    old = binding.original.string
    if binding.value == value:
        return old
    before = old[: len(old) - len(old.lstrip())]
    after = old[len(old.rstrip()) :]
    return f"{before}{name}={value}{after or os.linesep}"


def _replace(path: Path, content: bytes) -> None:
    """Put a whole new file in the place of the old one."""
    descriptor, new = mkstemp(prefix=f"{path.name}.", dir=path.parent)  # for its owner alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
