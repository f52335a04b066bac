"""A turn for programs: all that is kept of it as JSON, and the bytes of its requests."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.json import decode

from bot.errors import BadInput
from bot.features.traces.reading import TracedTurn, TurnWords
from bot.features.traces.records import Words
from bot.transcript import UNREADABLE

CACHED = "-cached-"
TYPES = {"request": "json", "response": "jsonl"}
UNSAFE = re.compile(r"[^A-Za-z0-9.-]")  # in names of files
OLDEST = (1980, 1, 1, 0, 0, 0)  # that an archive can name: times are in the turn's facts


def as_object(turn: TracedTurn, kept: TurnWords) -> dict[str, Any]:
    """All facts and words of a turn."""
    shares = []
    for share in turn.shares:
        described = to_builtins(share)
        for number, fact in enumerate(described["facts"]):
            if words := kept.by_fact.get((share.share, number)):
                fact["words"] = _words(words, kept)
        shares.append(described)
    return {
        "turn": turn.id,
        "at": turn.at,
        "ms": turn.ms,
        "outcome": turn.outcome,
        "conversation": kept.conversation,
        "ratings": turn.ratings,
        "failures": turn.failures,
        "usage": to_builtins(turn.usages),
        "usd": turn.usd,
        "damaged": kept.damaged,
        "shares": shares,
    }


def _words(words: Words, kept: TurnWords) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("text", "who"):
        if text := getattr(words, name):
            found[name] = text
    for name in ("arguments", "made", "result"):
        if stored := getattr(words, name):
            found[name] = _decoded(stored)
    if words.pieces:
        body = kept.body(words.pieces)
        found["body"] = None if body is None else body.decode("utf-8", "replace")
    if words.cached:
        found["cached"] = kept.cached(words).decode("utf-8", "replace")
    return found


def _decoded(stored: bytes) -> Any:
    try:
        return decode(stored)
    except UNREADABLE:  # a secret was struck through
        return stored.decode("utf-8", "replace")


def write_raw(path: Path, turn: TracedTurn, kept: TurnWords) -> tuple[int, int]:
    """Write the requests and responses of a turn into a new archive that only its owner reads.

    Returns:
        How many it has, and how many are missing because a part of them is not kept.

    Raises:
        BadInput: the file cannot be written.
    """
    bodies = list(_bodies(turn, kept))
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, body in bodies:
                if body is not None:
                    entry = zipfile.ZipInfo(name, OLDEST)
                    entry.external_attr = 0o600 << 16
                    archive.writestr(entry, body, zipfile.ZIP_DEFLATED)
    except FileExistsError:
        raise BadInput(f"{str(path)!r} exists: name a new file for --raw") from None
    except OSError as error:
        raise BadInput(f"--raw {str(path)!r} cannot be written: {error.strerror}") from error
    sent = [body for name, body in bodies if CACHED not in name]
    missing = sum(body is None for body in sent)
    return len(sent) - missing, missing


def _bodies(turn: TracedTurn, kept: TurnWords) -> Iterator[tuple[str, bytes | None]]:
    """The requests and responses in the order of their times, each with its name."""
    count = 0
    for share, number, fact in turn.facts:
        words = kept.by_fact.get((share.share, number))
        if fact.kind not in TYPES or words is None:
            continue
        count += 1
        model = UNSAFE.sub("_", fact.name)
        if words.cached:
            yield f"{count:03}{CACHED}{model}.json", kept.cached(words) or None
        yield f"{count:03}-{fact.kind}-{model}.{TYPES[fact.kind]}", kept.body(words.pieces)
