"""The places of a file: checked as a whole, and what they set for a conversation and a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.channels import PlaceLimit, PlaceSettings, PlaceUnit
from bot.errors import SettingsError
from bot.features.places.table import Place, Set, resolve
from bot.pipeline.services import FindModel
from bot.place_file import VARIABLE, PlaceFile, Sources, Table, parse
from bot.prices import MILLION
from toolset.offer.rules import EVERYTHING, Rule

PARTS: Mapping[PlaceUnit, int] = {"tokens": 1, "dollars": MILLION}  # that are counted
MOST_KNOWN = 4_096  # conversations with a person whose settings are remembered


class PlaceBook:
    """What a file sets.

    Args:
        bot_name: stands for ``{bot_name}`` in personas.

    Raises:
        SettingsError: names the line, the field and the fix.
    """

    def __init__(self, sources: Sources, bot_name: str, fallbacks: tuple[str, ...] = ()) -> None:
        self.file: PlaceFile = parse(sources)
        self.places = [self._place(table) for table in self.file.places]
        self._bot_name = bot_name
        self._fallbacks = fallbacks
        self._known: dict[tuple[str, str], PlaceSettings] = {}

    @property
    def sources(self) -> Sources:
        """What was read."""
        return self.file.sources

    def settings(self, conversation: str, person: str) -> PlaceSettings:
        """What is set for a person in a conversation."""
        asked = conversation, person
        if asked not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[asked] = self._settings(self.resolve(conversation, person))
        return self._known[asked]

    def resolve(self, conversation: str, person: str) -> dict[str, Set]:
        """By field, its value and the table that sets it. A persona is text, whatever file it comes
        from, and its mode is that of its table."""
        found = resolve(self.places, conversation, person)
        # The narrowest comes first.
        if given := next((found[name] for name in found if name.startswith("persona")), None):
            found["persona"] = Set(self._persona(given.number), given.number)
            mode = self.places[given.number].persona_mode or "add"
            found["persona_mode"] = Set(mode, given.number)
        found.pop("persona_file", None)
        return found

    def source(self, number: int, key: str) -> str:
        """Where a table sets a field, as ``places.toml:12``."""
        return f"{self.sources.name}:{self.file.places[number].line_of(key)}"

    def models(self) -> Iterator[tuple[int, str, str]]:
        """Each model that is named, with the number of the table and the field."""
        for number, place in enumerate(self.places):
            one = (place.model,) if place.model else ()
            named = {"model": one, "fallbacks": place.fallbacks, "reviewers": place.reviewers}
            for key, names in named.items():
                for name in names or ():
                    yield number, key, name

    def check_models(self, models: FindModel) -> None:
        """Open every model that is named.

        Raises:
            SettingsError: one does not exist, or lacks a variable.
        """
        for number, key, name in self.models():
            try:
                models((name,), VARIABLE)
            except SettingsError as error:
                fix = error.fix if error.variable == VARIABLE else str(error)
                raise self.file.wrong(self.file.places[number], key, fix) from error

    def _place(self, table: Table) -> Place:
        place = self.file.checked(table, Place, table.values)
        if place.persona is not None and place.persona_file is not None:
            raise self.file.wrong(table, "persona_file", "write this or persona, not both")
        if place.persona_mode and place.persona is None and place.persona_file is None:
            fix = "it is about this table's persona; write persona or persona_file too"
            raise self.file.wrong(table, "persona_mode", fix)
        return place

    def _persona(self, number: int) -> str:
        place = self.places[number]
        text = place.persona
        if text is None:
            text = self.sources.personas[place.persona_file or ""]
        return text.strip().replace("{bot_name}", self._bot_name)

    def _settings(self, found: Mapping[str, Set]) -> PlaceSettings:
        def value(name: str, otherwise: Any) -> Any:
            return found[name].value if name in found else otherwise

        offer, model = EVERYTHING, value("model", "")
        if "tools" in found or "risk" in found:
            offer = Rule(tools=value("tools", ("*",)), risk=value("risk", {}))
        models = (model, *value("fallbacks", self._fallbacks))
        limits = []
        for unit, parts in PARTS.items():
            if unit in found:
                amount, number = found[unit]
                key, source = self.places[number].key, self.source(number, unit)
                limits.append(PlaceLimit(key, unit, round(amount * parts), source))
        return PlaceSettings(
            persona=value("persona", ""),
            replaces_persona=value("persona_mode", "add") == "replace",
            models=tuple(dict.fromkeys(models)) if model or "fallbacks" in found else (),
            offer=offer,
            speak=value("speak", ""),
            bots=value("bots", ()),
            language=value("language", ""),
            time_zone=value("time_zone", ""),
            limits=tuple(limits),
            reviewers=value("reviewers", None),
            approvers=value("approvers", None),
        )
