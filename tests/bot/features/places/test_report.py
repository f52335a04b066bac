"""``kaiwa places``: where people have written, what is set there and by which line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from bot.checks import CheckResult, Examined
from bot.clock import Days
from bot.errors import SettingsError
from bot.features.places import seen as seen_places
from bot.features.places.report import Field, Seen, examine, explain, rows, seen
from bot.features.places.seen import SeenPlaces, Use
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

[[place]]
account = "shop"
conversation = "slack:T9:*"
person = "U1"
tokens = 3
"""


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
            "never (nothing is answered there, and no command is run)",
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


async def test_the_doctor_names_what_is_doubtful(store: Store, settings: Settings) -> None:
    """Models that cannot be opened, tools without a question, patterns without a place."""

    @asynccontextmanager
    async def open_model(name: str) -> AsyncIterator[None]:
        raise SettingsError("OPENAI_API_KEY", f"{name} needs it")
        yield

    SeenPlaces(store).note_later("slack:T1:C1", 1)
    await until_true(partial(_have_come, store, 1))
    examined = Examined(store, tool_map(Launch(), Echo()), open_model, ("hub__",))
    assert await examine(settings, examined) == [
        CheckResult(
            "failure",
            "places",
            "places.toml:1: openai:small: OPENAI_API_KEY",
            "openai:small needs it",
        ),
        CheckResult(
            "warning",
            "places",
            "places.toml:6: gone is no tool on offer",
            "remove it there",
        ),
        CheckResult(
            "warning",
            "places",
            "places.toml:6: launch acts, and nobody is asked",
            "remove it there, or write high",
        ),
        CheckResult(
            "warning",
            "places",
            "places.toml:13: account shop matches no place of the last 30 days",
            "see kaiwa places",
        ),
        CheckResult(
            "warning",
            "places",
            "places.toml:13: conversation slack:T9:* matches no place of the last 30 days",
            "see kaiwa places",
        ),
    ]


async def test_without_a_file_the_command_says_what_to_set(store: Store) -> None:
    """One line."""
    with pytest.raises(SettingsError, match="PLACES: names no file"):
        await seen(load(), store)
