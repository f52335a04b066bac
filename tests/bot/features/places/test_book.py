"""A file of places as a whole: what it sets, and one line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.channels import AS_EVERYWHERE, PlaceLimit, PlaceSettings
from bot.errors import SettingsError
from bot.features.places.book import PlaceBook
from bot.place_file import read_sources
from bot.providers import Provider
from bot.providers.scripted import Scripted
from toolset.offer.rules import Rule

FILE = """
[[place]]
platform = "slack"
persona_file = "shop.md"
persona_mode = "replace"
model = "openai:small"
tokens = 500
dollars = 0.25

[[place]]
conversation = "slack:T1:C1"
persona = "You are {bot_name} of the warehouse."
tools = "calculate, weather"
risk = { calculate = "high" }
bots = ["B7"]
speak = "all"
language = "ja"
time_zone = "Asia/Tokyo"
approvers = []
tokens = 100
"""


def book_of(folder: Path, text: str) -> PlaceBook:
    """What a file sets; a persona stands beside it."""
    (folder / "shop.md").write_text("You sell tea.\n", "utf-8")
    path = folder / "places.toml"
    path.write_text(text, "utf-8")
    return PlaceBook(read_sources(path), "Kaiwa", ("openai:other",))


def test_fields_are_looked_up_one_by_one(tmp_path: Path) -> None:
    """A persona brings its mode; a model without fallbacks has those of FALLBACK_MODELS."""
    book = book_of(tmp_path, FILE)
    wide, narrow = book.places
    assert book.settings("line:bot:user:U1", "U1") == AS_EVERYWHERE
    assert book.settings("slack:T1:C2:1.1", "U1") == PlaceSettings(
        persona="You sell tea.",
        replaces_persona=True,
        models=("openai:small", "openai:other"),
        limits=(
            PlaceLimit(wide.key, "tokens", 500, "places.toml:7"),
            PlaceLimit(wide.key, "dollars", 250_000, "places.toml:8"),
        ),
    )
    assert book.settings("slack:T1:C1:1.1", "") == PlaceSettings(
        persona="You are Kaiwa of the warehouse.",
        models=("openai:small", "openai:other"),
        offer=Rule(tools=("calculate", "weather"), risk={"calculate": "high"}),
        speak="all",
        bots=("B7",),
        language="ja",
        time_zone="Asia/Tokyo",
        limits=(
            PlaceLimit(narrow.key, "tokens", 100, "places.toml:20"),
            PlaceLimit(wide.key, "dollars", 250_000, "places.toml:8"),
        ),
        approvers=(),
    )
    assert wide.key != narrow.key


def test_fallbacks_alone_follow_the_usual_model(tmp_path: Path) -> None:
    """Which an empty name is; those of a narrower table follow a wider one's model."""
    text = """[[place]]
fallbacks = "openai:backup"
[[place]]
platform = "slack"
model = "openai:small"
[[place]]
conversation = "slack:T1:C1"
fallbacks = []
"""
    book = book_of(tmp_path, text)
    places = "line:bot:user:U1", "slack:T1:C2", "slack:T1:C1"
    assert [book.settings(place, "").models for place in places] == [
        ("", "openai:backup"),
        ("openai:small", "openai:backup"),
        ("openai:small",),
    ]


WRONG = {
    '[[place]]\nspeak = "loud"': (
        "line 2, place 1, speak: write 'mention', 'thread', 'all' or 'never'"
    ),
    '[[place]]\npersona_mode = "add"': (
        "line 2, place 1, persona_mode: it is about this table's persona; write persona or "
        "persona_file too"
    ),
    '[[place]]\npersona = "A"\npersona_file = "shop.md"': (
        "line 3, place 1, persona_file: write this or persona, not both"
    ),
    "[[place]]\n[[place]]\ntokens = 0": "line 3, place 2, tokens: write a number of at least 1",
    '[[place]]\ntime_zone = "Tokio"': (
        "line 2, place 1, time_zone: write an IANA name such as Asia/Tokyo or UTC"
    ),
    '[[place]]\nmodel = "gpt"': (
        "line 2, place 1, model: write demo or PROVIDER:MODEL, as in gemini:gemini-flash-latest"
    ),
    "[[place]]\ndollars = 0.001": "line 2, place 1, dollars: write a number of at least 0.01",
    f'[[place]]\ntools = "{"[" * 65_536}"': (
        "line 2, place 1, tools: write at most 200 characters"
    ),
    '[[place]]\nrisk = { a = "some" }': "line 2, place 1, risk: write 'low' or 'high'",
    '[[place]]\nmodels = "demo"': "line 2, place 1, models: there is no such field; write one of ",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_a_wrong_field_is_one_line_that_names_the_mend(tmp_path: Path, text: str) -> None:
    """File, line, table and field."""
    with pytest.raises(SettingsError) as error:
        book_of(tmp_path, text)
    assert str(error.value).startswith(f"PLACES: places.toml, {WRONG[text]}")


def test_a_model_that_cannot_be_opened_is_named_with_its_line(tmp_path: Path) -> None:
    """And the variable that it lacks."""

    def find(names: tuple[str, ...], asker: str) -> Provider:
        if names == ("openai:small",):
            return Scripted([])
        variable = "GEMINI_API_KEY" if names[0].startswith("gemini") else asker
        raise SettingsError(variable, "set it")

    book_of(tmp_path, FILE).check_models(find)
    for model, fix in (("gemini:x", "GEMINI_API_KEY: set it"), ("x:y", "set it")):
        book = book_of(tmp_path, f'[[place]]\n\nfallbacks = ["openai:small", "{model}"]')
        with pytest.raises(SettingsError) as error:
            book.check_models(find)
        assert str(error.value) == f"PLACES: places.toml, line 3, place 1, fallbacks: {fix}"
