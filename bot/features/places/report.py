"""``kaiwa places``: where people have written, and what is set there; and the lines of ``kaiwa
doctor`` about the file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bot.checks import CheckResult, Examined
from bot.clock import Days
from bot.errors import ModelError, SettingsError
from bot.features.places.book import PlaceBook
from bot.features.places.seen import SeenPlaces
from bot.features.places.table import Place, Set, Whom, whom
from bot.place_file import VARIABLE, read_sources
from bot.prices import MILLION, load_prices
from bot.safe_text.glyphs import json_line
from bot.settings import Settings
from bot.store import Store
from toolset.offer.rules import Rule, unknown

DAYS = 30
LONGEST = 120  # characters of a value
SILENT = "nothing is answered there, and no command is run; reminders set before still come"
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


def _shown(name: str, value: Any, found: Mapping[str, Set]) -> str:
    """The value, and what people may not expect of it."""
    if isinstance(value, tuple):
        text = ", ".join(value)
    elif isinstance(value, dict):
        text = ", ".join(f"{tool} {risk}" for tool, risk in value.items())
    else:
        text = str(value)
    if name == "persona":
        return json_line(text, LONGEST)
    if (name, value) == ("speak", "never"):
        return f"{text} ({SILENT})"
    if name == "dollars" and "model" in found:
        model = found["model"].value.partition(":")[2]
        return text if load_prices().of(model) else f"{text} ({PRICELESS})"
    return text


def rows(lines: Sequence[Seen | Field]) -> Iterator[tuple[str, ...]]:
    """The lines as rows of a table."""
    for line in lines:
        yield tuple(
            f"{value:.4f}" if isinstance(value, float) else str(value)
            for value in structs.astuple(line)
        )


async def examine(settings: Settings, examined: Examined) -> list[CheckResult]:
    """What is doubtful in the file; that it cannot be read is said already."""
    try:
        book = book_of(settings)
    except SettingsError:
        return []
    named: dict[str, str] = {}  # by model, where it is named first; others are checked elsewhere
    for number, key, model in book.models():
        if model not in settings.all_models:
            named.setdefault(model, book.source(number, key))
    checks = [_check_model(where, model, examined) for model, where in named.items()]
    found = [*chain(*await asyncio.gather(*checks))]
    places = [whom(place, "") for place in await SeenPlaces(examined.store).read()]
    for number, place in enumerate(book.places):
        for key, what, fix in chain(_doubtful_tools(place, examined), _unseen(place, places)):
            where = book.source(number, key)
            found.append(CheckResult("warning", "places", f"{where}: {what}", fix))
    return found


async def _check_model(where: str, model: str, examined: Examined) -> list[CheckResult]:
    try:
        async with examined.open_model(model, asker=VARIABLE) as provider:
            await provider.check()
            return []
    except SettingsError as error:
        what, fix = error.variable, error.fix
    except ModelError as error:
        what, fix = "cannot be used", error.cause
    return [CheckResult("failure", "places", f"{where}: {model}: {what}", fix)]


def _doubtful_tools(place: Place, examined: Examined) -> Iterator[tuple[str, str, str]]:
    """Field, problem and fix of tools that there are not, and of those that run unasked. Those of
    servers are not asked for."""
    tools, servers = examined.tools, examined.servers
    risks = place.risk or {}
    for key, rule in (("tools", Rule(tools=place.tools or ())), ("risk", Rule(risk=risks))):
        for name in unknown([rule], tools):
            if not name.startswith(servers):
                yield key, f"{name} is no tool", "correct its name"
    for name, risk in risks.items():
        acts = tools[name].definition.risk == "high" if name in tools else name.startswith(servers)
        if risk == "low" and acts:
            yield "risk", f"{name} acts, and nobody is asked", "remove it there, or write high"


def _unseen(place: Place, places: Sequence[Whom]) -> Iterator[tuple[str, str, str]]:
    """The same of patterns that match nothing; which people have written is not kept."""
    for key, pattern in place.patterns():
        only = Place.model_validate({key: (pattern,)})
        if key != "person" and not any(only.rank(one, 0) for one in places):
            what = f'{key} "{pattern}" matches no place of the last {DAYS} days'
            yield key, what, "see kaiwa places"
