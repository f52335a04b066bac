"""``.env.example`` tells the truth about every variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

import toolset
from bot.channels.registry import CHANNELS
from bot.features.registry import load_configs
from bot.providers.registry import PROVIDERS
from bot.settings import Settings, config_beside, load, tool_config
from tests.project import NO_OPEN_METEO, ROOT

LINES = (ROOT / ".env.example").read_text("utf-8").splitlines()
VARIABLE = re.compile(r"#?([A-Z][A-Z0-9_]*)=(.*)")
READ_BY_THEMSELVES = [
    *(tool.Config for tool in toolset.find()),
    *(entry.config for entry in PROVIDERS),
]
READ_BESIDE: list[type[BaseModel]] = [
    *(entry.package.Config for entry in CHANNELS),
    *load_configs().values(),
]
CONFIGS: list[type[BaseModel]] = [Settings, *READ_BY_THEMSELVES, *READ_BESIDE]


@pytest.fixture(autouse=True)
def defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What every test has set is a default here, too."""
    for name in NO_OPEN_METEO:
        monkeypatch.delenv(name)


def everything() -> list[BaseModel]:
    """All settings, and those of tools, providers, channels and features, as they are read from
    here."""
    settings = load()
    beside = (config_beside(config, settings) for config in READ_BESIDE)
    return [settings, *(tool_config(config) for config in READ_BY_THEMSELVES), *beside]


def test_it_names_every_variable_once() -> None:
    """Whoever reads the file has seen all there is to set, and nothing that does not exist."""
    named = [match[1] for line in LINES if (match := VARIABLE.fullmatch(line))]
    read = {field.upper() for config in CONFIGS for field in config.model_fields}
    assert sorted(named) == sorted(read)


def test_every_variable_has_a_comment() -> None:
    """The line above a variable says what it does."""
    above = dict(zip(LINES[1:], LINES, strict=False))
    assert [
        line for line in LINES if VARIABLE.fullmatch(line) and not above[line].startswith("# ")
    ] == []


@pytest.mark.parametrize("prefix", ["", "#"], ids=["copied as it is", "every default uncommented"])
def test_copying_it_changes_nothing(tmp_path: Path, prefix: str) -> None:
    """The defaults it shows are the defaults there are."""
    defaults = everything()
    copied = [
        f"{match[1]}={match[2]}" if (match := VARIABLE.fullmatch(line.removeprefix(prefix))) else ""
        for line in LINES
    ]
    (tmp_path / ".env").write_text("\n".join(copied if prefix else LINES), "utf-8")
    assert everything() == defaults
