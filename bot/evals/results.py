"""The file of earlier runs: the last one of each model."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError
from msgspec.json import decode, encode, format

from bot.errors import BadInput
from bot.evals.report import Run


class Runs(Struct, frozen=True):
    """The last run of each model."""

    runs: dict[str, Run] = {}


def read_runs(path: Path) -> Runs:
    """The runs of a file; none if there is no file.

    Raises:
        BadInput: the file holds something else.
    """
    try:
        return decode(path.read_bytes(), type=Runs)
    except FileNotFoundError:
        return Runs()
    except (DecodeError, ValidationError, OSError) as error:
        raise BadInput(
            f"--results: {path} cannot be read as results of earlier runs; name another file"
        ) from error


def keep_run(path: Path, run: Run) -> None:
    """Write a run in the place of the earlier one of its model.

    Raises:
        BadInput: it cannot be written.
    """
    runs = Runs({**read_runs(path).runs, run.model: run})
    write_file(path, format(encode(runs), indent=1) + b"\n")


def write_file(path: Path, content: bytes) -> None:
    """Replace a file as a whole, for its owner only.

    Raises:
        BadInput: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        draft.touch(0o600)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"--results: {path} cannot be written: {error.strerror}") from error
