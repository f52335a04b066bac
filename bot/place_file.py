"""The file PLACES: its ``[[place]]`` and ``[[account]]`` tables with the lines at which they stand,
and the persona files that they name.

The module knows no field but ``persona_file``: who reads a table checks it. Whoever finds something
wrong raises what ``PlaceFile.wrong`` makes: one line with the file, the line and the field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.json import decode
from pydantic import BaseModel, ValidationError

from bot.errors import SettingsError
from bot.settings import fix_of
from bot.transcript import encode

MOST_BYTES = 256 * 1024  # of the file
MOST_PERSONA_BYTES = 64 * 1024  # of each persona file
MOST_CHARACTERS = 1_000_000  # of all of them: the store keeps them
MOST_TABLES = 500
VARIABLE = "PLACES"
PLACE, ACCOUNT = "place", "account"
HEADER = re.compile(r"\s*\[\[\s*[\"']?(place|account)[\"']?\s*\]\]")
PART = re.compile(r"\s*\[\s*(?:place|account)\s*\.\s*[\"']?([\w-]+)")  # as [place.risk]
KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*[.=]")
# What may hold a quote that opens no string of several lines, or opens one.
TOKEN = re.compile(r"\"\"\"|'''|\"(?:\\.|[^\"\\])*\"|'[^']*'|#.*")
AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
ModelT = TypeVar("ModelT", bound=BaseModel)


class Sources(Struct, frozen=True):
    """What was read, whole: the last good one is kept in the store.

    Attributes:
        name: of the file, for messages.
        personas: the texts of persona files, by the path that the file gives.
    """

    name: str
    text: str
    personas: dict[str, str]

    @property
    def digest(self) -> str:
        """Changes with each byte of the file and of its personas."""
        personas = sorted(self.personas.items())
        return sha256(encode((self.text, personas))).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        kind: ``place`` or ``account``.
        number: among those of its kind, from 1.
        line: of its header, from 1.
        values: as they stand there.
        lines: where each key stands; tomllib does not say it, so the lines are searched for keys.
    """

    kind: str
    number: int
    line: int
    values: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, key: str) -> int:
        """The line of a key; of the table where the key is missing."""
        return self.lines.get(key, self.line)


@dataclass(frozen=True, slots=True)
class PlaceFile:
    """The tables of a file, in its order."""

    sources: Sources
    places: Sequence[Table]
    accounts: Sequence[Table]

    def wrong(self, table: Table, key: str, fix: str) -> SettingsError:
        """An error about a key of a table; ``fix`` is a short sentence without the value."""
        field_ = f", {key}" if key else ""
        place = f"line {table.line_of(key)}, {table.kind} {table.number}{field_}"
        return SettingsError(VARIABLE, f"{self.sources.name}, {place}: {fix}")

    def checked(self, table: Table, model: type[ModelT], values: Mapping[str, Any]) -> ModelT:
        """A table's values as a model.

        Raises:
            SettingsError: names the first wrong key and the fix.
        """
        try:
            return model.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = str(first["loc"][0]) if first["loc"] else ""
            fix = fix_of(first)
            if first["type"] == "extra_forbidden":
                fix = f"there is no such field; write one of {', '.join(model.model_fields)}"
            raise self.wrong(table, key, fix) from None


def read_sources(path: Path) -> Sources:
    """Read the file, and the persona files that it names.

    Raises:
        SettingsError: one is missing, is too long, or is no text.
    """
    name = path.name
    text = _read(path, name, MOST_BYTES)
    bare = Sources(name, text, {})
    personas: dict[str, str] = {}
    for table in _tables(bare)[PLACE]:
        given = table.values.get("persona_file")
        if isinstance(given, str) and given not in personas:
            where = f"{name}, line {table.line_of('persona_file')}, place {table.number}"
            at = f"{where}, persona_file"
            personas[given] = _read(path.parent / given, at, MOST_PERSONA_BYTES).strip()
    if sum(map(len, personas.values())) > MOST_CHARACTERS:
        fix = f"its persona files have more than {MOST_CHARACTERS:,} characters; shorten them"
        raise SettingsError(VARIABLE, f"{name}: {fix}")
    return Sources(name, text, personas)


def parse(sources: Sources) -> PlaceFile:
    """The tables of what was read.

    Raises:
        SettingsError: it is no TOML, or holds something else than tables of the two kinds.
    """
    tables = _tables(sources)
    return PlaceFile(sources, tables[PLACE], tables[ACCOUNT])


def unpack(kept: bytes) -> Sources:
    """What ``bot.transcript.encode`` made of sources.

    Raises:
        msgspec.DecodeError: it is something else.
    """
    return decode(kept, type=Sources)


def _read(path: Path, where: str, most: int) -> str:
    try:
        if not path.is_file():  # a pipe would make the reader wait, and is empty the next time
            raise OSError
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError):
        fix = "there is no such file, or it cannot be read; write its path from this file's folder"
        raise SettingsError(VARIABLE, f"{where}: {fix}") from None
    if len(data) > most:
        raise SettingsError(VARIABLE, f"{where}: is longer than {most // 1024} KiB; shorten it")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise SettingsError(VARIABLE, f"{where}: is no text; save it as UTF-8") from None


def _tables(sources: Sources) -> dict[str, list[Table]]:
    name = sources.name
    try:
        document = tomllib.loads(sources.text)
    except (ValueError, RecursionError) as error:
        at = AT_LINE.search(str(error))
        line = at[1] if at and at[1] else sources.text.count("\n") + 1
        why = AT_LINE.sub("", str(error))
        raise SettingsError(VARIABLE, f"{name}, line {line}: {why}; write TOML") from None
    kinds = {kind: document.pop(kind, []) for kind in (PLACE, ACCOUNT)}
    if document or not all(map(_is_tables, kinds.values())):
        fix = "only [[place]] and [[account]] tables belong in it"
        raise SettingsError(VARIABLE, f"{name}, line 1: {fix}")
    if sum(map(len, kinds.values())) > MOST_TABLES:
        raise SettingsError(VARIABLE, f"{name}: write at most {MOST_TABLES} tables")
    lines = _lines(sources.text)
    found: dict[str, list[Table]] = {}
    for kind, tables in kinds.items():
        places = iter(lines[kind])
        found[kind] = []
        for number, values in enumerate(tables, 1):
            line, keys = next(places, (1, {}))
            found[kind].append(Table(kind, number, line, values, keys))
    return found


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _lines(text: str) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """By kind, the line of each table's header and of its keys."""
    found: dict[str, list[tuple[int, dict[str, int]]]] = {PLACE: [], ACCOUNT: []}
    keys: dict[str, int] = {}
    is_part, open_quote = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not open_quote:
            if header := HEADER.match(line):
                keys, is_part = {}, False
                found[header[1]].append((number, keys))
            elif part := PART.match(line):
                is_part = True
                keys.setdefault(part[1], number)
            elif not is_part and (key := KEY.match(line)):
                keys.setdefault(key[1], number)
        open_quote = _open_quote(line, open_quote)
    return found


def _open_quote(line: str, quote: str) -> str:
    """The quotes of the string of several lines that is open after a line, which began within
    ``quote``."""
    start, unescaped = 0, line.replace("\\\\", "__").replace('\\"', "__")
    while True:
        if quote:
            end = unescaped.find(quote, start)
            if end < 0:
                return quote
            start, quote = end + 3, ""
        opening = next((m for m in TOKEN.finditer(line, start) if m[0] in ('"""', "'''")), None)
        if opening is None:
            return ""
        start, quote = opening.end(), opening[0]
