"""``kaiwa places``: where people have written, and what is set there; and the lines of ``kaiwa
doctor`` about the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bot.checks import CheckResult, Examined
from bot.clock import Days
from bot.errors import SettingsError
from bot.features.places.book import PlaceBook
from bot.features.places.seen import SeenPlaces
from bot.features.places.table import Place, whom
from bot.place_file import VARIABLE, read_sources
from bot.prices import MILLION, load_prices
from bot.safe_text.glyphs import json_line
from bot.settings import Settings
from bot.store import Store
from toolset.offer.rules import Rule, lowered, unknown

DAYS = 30
LONGEST = 120  # characters of a value
SILENT = "nothing is answered there, and no command is run"
PRICELESS = "the model has no price here: it counts as 0"


class Seen(Struct, frozen=True):
    """A place in which people have written.

    Attributes:
        tables: that match it, whoever writes, each as ``places.toml:12``.
        usd: estimated.
    """

    place: str
    tables: str
    tokens: int
    usd: float


class Field(Struct, frozen=True):
    """A field with its value, and where it is set."""

    name: str
    value: str
    source: str


def book_of(settings: Settings) -> PlaceBook:
    """The file.

    Raises:
        SettingsError: there is none, or it is broken.
    """
    if settings.places is None:
        raise SettingsError(VARIABLE, "names no file; write the path of one (docs/places.md)")
    path = Path(settings.places)
    return PlaceBook(read_sources(path), settings.bot_name, settings.fallback_models)


async def seen(settings: Settings, store: Store) -> list[Seen]:
    """The places, the newest first."""
    book, days = book_of(settings), Days(settings.timezone).latest(DAYS)
    places, found = SeenPlaces(store), []
    known = await places.read()
    for place, use in zip(known, await places.used(days, known), strict=True):
        tables = [
            book.source(number, "")
            for number, one in enumerate(book.places)
            if one.model_copy(update={"person": None}).rank(whom(place, ""), number)
        ]
        found.append(Seen(place, " ".join(tables), use.tokens, use.micros / MILLION))
    return found


async def explain(
    settings: Settings, store: Store, conversation: str, person: str = ""
) -> list[Field]:
    """Each field that is set for a person in a conversation."""
    book = book_of(settings)
    found = book.resolve(conversation, person)
    lines = []
    for name in Place.model_fields:
        if name in found:
            value, number = found[name]
            key = "persona_file" if name == "persona" and book.places[number].persona_file else name
            lines.append(Field(name, _shown(name, value, found), book.source(number, key)))
    return lines


def _shown(name: str, value: Any, found: dict[str, Any]) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    if isinstance(value, dict):
        text = ", ".join(f"{tool} {risk}" for tool, risk in value.items())
    note = ""
    if (name, value) == ("speak", "never"):
        note = f" ({SILENT})"
    if name == "dollars" and "model" in found:
        model = found["model"].value.partition(":")[2]
        note = "" if load_prices().of(model) else f" ({PRICELESS})"
    return f"{json_line(text, LONGEST) if name == 'persona' else text}{note}"


def rows(lines: Sequence[Seen | Field]) -> Iterator[tuple[str, ...]]:
    """The lines as rows of a table."""
    for line in lines:
        yield tuple(
            f"{value:.4f}" if isinstance(value, float) else str(value)
            for value in structs.astuple(line)
        )


async def examine(settings: Settings, examined: Examined) -> list[CheckResult]:
    """What is doubtful in the file."""
    book = book_of(settings)
    places = await SeenPlaces(examined.store).read()
    found = []
    for number, place in enumerate(book.places):
        where = book.source(number, "")
        for name in place.fallbacks or (), place.reviewers or (), (place.model,):
            for model in filter(None, name):
                found += await _model(where, model, examined)
        rule = Rule(tools=place.tools or (), risk=place.risk or {})
        for tool in unknown([rule], examined.tools):
            if not tool.startswith(examined.of_servers):
                found.append(_doubt(f"{where}: {tool} is no tool on offer", "remove it there"))
        for tool in lowered([rule]):
            if tool in examined.tools and examined.tools[tool].definition.risk == "high":
                fix = "remove it there, or write high"
                found.append(_doubt(f"{where}: {tool} acts, and nobody is asked", fix))
        for name, pattern in place.patterns():
            only = Place.model_construct(**{name: (pattern,)})
            # Who has written is not kept.
            if name != "person" and not any(only.rank(whom(one, ""), 0) for one in places):
                what = f"{where}: {name} {pattern} matches no place of the last 30 days"
                found.append(_doubt(what, "see kaiwa places"))
    return found


def _doubt(what: str, fix: str) -> CheckResult:
    return CheckResult("warning", "places", what, fix)


async def _model(where: str, model: str, examined: Examined) -> list[CheckResult]:
    try:
        async with examined.open_model(model):
            return []
    except SettingsError as error:
        return [CheckResult("failure", "places", f"{where}: {model}: {error.variable}", error.fix)]
