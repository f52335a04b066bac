"""``kaiwa places``: where people have written, what is set there and by which line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.checks import CheckResult, Examined
from bot.clock import Days
from bot.errors import ModelError, SettingsError
from bot.features.places import seen as seen_places
from bot.features.places.report import Field, Seen, examine, explain, rows, seen
from bot.features.places.seen import SeenPlaces, Use
from bot.providers.scripted import Scripted
from bot.settings import Settings, load
from bot.store import Store
from tests.fakes.tools import Echo, Launch, tool_map
from tests.waiting import until_true

FILE = """[[place]]
platform = "slack"
model = "openai:small"
dollars = 0.25

[[place]]
conversation = "slack:T1:C1"
persona_file = "shop.md"
risk = { launch = "low", gone = "high", hub__list = "low" }
speak = "never"
tools = "launch, echo"
"""


class Unsound(Scripted):
    """A model whose check may fail."""

    def __init__(self, failure: ModelError | None) -> None:
        super().__init__([])
        self._failure = failure

    async def check(self) -> str:
        if self._failure:
            raise self._failure
        return "works"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a file."""
    (tmp_path / "shop.md").write_text("You sell tea.", "utf-8")
    path = tmp_path / "places.toml"
    path.write_text(FILE, "utf-8")
    return load(known={"places": path, "timezone": "UTC"})


async def _have_come(store: Store, number: int) -> bool:
    """Whether what rides with other requests is in the store."""
    known = await SeenPlaces(store).read()
    used = await SeenPlaces(store).used(Days("UTC").latest(1), known)
    return (len(known), sum(use.tokens > 0 for use in used)) == (number, number - 1)


async def test_each_field_is_explained_by_its_line(store: Store, settings: Settings) -> None:
    """In the order of the table of fields."""
    lines = await explain(settings, store, "slack:T1:C1:1700000000.1", "U1")
    assert lines == [
        Field("persona", '"You sell tea."', "places.toml:8"),
        Field("persona_mode", "add", "places.toml:6"),
        Field("model", "openai:small", "places.toml:3"),
        Field("tools", "launch, echo", "places.toml:11"),
        Field("risk", "launch low, gone high, hub__list low", "places.toml:9"),
        Field(
            "speak",
            "never (nothing is answered there, and no command is run; reminders set before still "
            "come)",
            "places.toml:10",
        ),
        Field("dollars", "0.25 (the model has no price here: it counts as 0)", "places.toml:4"),
    ]
    assert await explain(settings, store, "line:bot:user:U1") == []
    assert list(rows(lines))[2] == ("model", "openai:small", "places.toml:3")


async def test_places_are_listed_with_what_they_used(store: Store, settings: Settings) -> None:
    """The newest first."""
    places, today = SeenPlaces(store), Days("UTC").today
    places.note_later("slack:T1:C1", 1)
    places.note_later("line:bot:group:C9", 2)
    places.add_later(today, "slack:T1:C1", Use(300, 1_500))
    await until_true(partial(_have_come, store, 2))
    assert await seen(settings, store) == [
        Seen("line:bot:group:C9", "", 0, 0.0),
        Seen("slack:T1:C1", "places.toml:1 places.toml:6", 300, 0.0015),
    ]


async def test_what_is_kept_of_a_day_has_an_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many people write: the places that have used least are dropped."""
    monkeypatch.setattr(seen_places, "MOST_SEEN", 3)
    places, today = SeenPlaces(store), Days("UTC").today
    names = [f"line:bot:user:U{number}" for number in range(5)]
    for number, name in enumerate(names):
        places.add_later(today, name, Use(10 * number + 10, number))
    assert await places.used([today], [*names, "line:bot:user:U9"]) == [
        *(Use(0, 0), Use(0, 0), Use(30, 2), Use(40, 3), Use(50, 4)),
        Use(0, 0),
    ]


DOUBTFUL = """[[place]]
model = "openai:keyless"
fallbacks = ["openai:gone", "openai:there"]

[[place]]
conversation = "slack:T1:C1"
reviewers = "openai:gone"
tools = "launch, ech?, files_*, files_read, vanished"
risk = { launch = "low", echo = "low", files_write = "low", lost = "high" }

[[place]]
platform = ["slack", "line"]
account = "shop"
conversation = "slack:T9:*"
person = "U1"
model = "openai:usual"
"""


async def test_the_doctor_names_what_is_doubtful(store: Store, settings: Settings) -> None:
    """Models that are missing, tools that are, tools without a question, patterns without a
    place."""
    asked = []

    @asynccontextmanager
    async def open_model(name: str, asker: str) -> AsyncIterator[Scripted]:
        asked.append(name)
        if name == "openai:keyless":
            raise SettingsError("OPENAI_API_KEY", f"{asker} asks for {name}")
        is_gone = ModelError("unavailable", "there is no such model; check its name")
        yield Unsound(is_gone if name == "openai:gone" else None)

    SeenPlaces(store).note_later("slack:T1:C1", 1)
    await until_true(partial(_have_come, store, 1))
    assert settings.places is not None
    settings.places.write_text(DOUBTFUL, "utf-8")
    examined = Examined(store, tool_map(Launch(), Echo()), open_model, ("files_",))
    found = await examine(settings.model_copy(update={"model": "openai:usual"}), examined)
    needs_key, gone, *warnings = found
    assert needs_key == CheckResult(
        "failure",
        "places",
        "places.toml:2: openai:keyless: OPENAI_API_KEY",
        "PLACES asks for openai:keyless",
    )
    assert gone == CheckResult(
        "failure",
        "places",
        "places.toml:3: openai:gone: cannot be used",
        "there is no such model; check its name",
    )
    assert sorted(asked) == ["openai:gone", "openai:keyless", "openai:there"]
    unasked, nowhere = "acts, and nobody is asked", "matches no place of the last 30 days"
    assert [one.detail.removeprefix("places.toml:") for one in warnings] == [
        "8: vanished is no tool",
        "9: lost is no tool",
        f"9: launch {unasked}",
        f"9: files_write {unasked}",
        f'12: platform "line" {nowhere}',
        f'13: account "shop" {nowhere}',
        f'14: conversation "slack:T9:*" {nowhere}',
    ]
    assert {one.result for one in warnings} == {"warning"}
    assert all(one.fix for one in warnings)
    settings.places.write_text("[[place]\n", "utf-8")
    assert await examine(settings, examined) == []


async def test_without_a_file_the_command_says_what_to_set(store: Store) -> None:
    """One line."""
    with pytest.raises(SettingsError, match="PLACES: names no file"):
        await seen(load(), store)
