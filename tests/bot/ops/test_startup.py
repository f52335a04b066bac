"""The start report tells which parts are on."""

from __future__ import annotations

import pytest

from bot.checks import CheckResult
from bot.ops.startup import start_report
from bot.settings import load


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {},
            (
                "ok",
                "free for non-commercial use only",
                "set OPEN_METEO=0, or OPEN_METEO_BASE_URL to a server of your own",
            ),
        ),
        (
            {"OPEN_METEO": "0"},
            ("off", "wttr.in alone tells the weather", "unset OPEN_METEO to ask both"),
        ),
        (
            {"OPEN_METEO_BASE_URL": "http://weather.internal"},
            ("ok", "your own server", "set OPEN_METEO=0 to ask wttr.in alone"),
        ),
    ],
)
def test_the_terms_of_open_meteo_are_told(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], line: tuple[str, ...]
) -> None:
    """They forbid commercial use of the public server; a server of one's own has none."""
    monkeypatch.delenv("OPEN_METEO_BASE_URL", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (reported,) = (part for part in start_report(load()) if part.name == "Open-Meteo")
    # a word of the table
    assert reported == CheckResult(line[0], "Open-Meteo", *line[1:])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("", ("off", "none are made", "set IMAGE_MODEL=gemini-3.1-flash-image, which costs money")),
        (
            "gemini-3-pro-image",
            ("ok", "made by gemini:gemini-3-pro-image", "unset IMAGE_MODEL to make none"),
        ),
    ],
)
def test_it_tells_whether_pictures_are_made(
    monkeypatch: pytest.MonkeyPatch, model: str, line: tuple[str, ...]
) -> None:
    """They cost money."""
    monkeypatch.setenv("IMAGE_MODEL", model)
    (reported,) = (part for part in start_report(load()) if part.name == "images")
    # a word of the table
    assert reported == CheckResult(line[0], "images", *line[1:])  # type: ignore[arg-type]
