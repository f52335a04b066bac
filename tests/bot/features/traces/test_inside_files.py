"""The files of the page ``/inside`` need nothing from elsewhere, and their words are in the
catalogue."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from bot import texts

ROOM = files("bot.features.traces")
STATIC = ROOM / "static"
NAMES = sorted(file.name for file in STATIC.iterdir())
# Keys that are made of a prefix and a kind, a field, a state.
PREFIXES = ("kind_", "fact_", "state_", "against_", "rated_")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_needs_nothing_from_elsewhere(name: str) -> None:
    """No address of another site, no inline script or style, nothing that parses HTML."""
    source = (STATIC / name).read_text("utf-8")
    assert re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", source) == []
    parses = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=|<script>| on\w+="
    )
    assert re.findall(parses, source) == []
    assert len(source.splitlines()) <= 500


def test_every_word_the_page_uses_is_in_the_catalogue() -> None:
    """And the catalogue holds none that nobody uses."""
    source = "".join((STATIC / name).read_text("utf-8") for name in NAMES)
    used = set(re.findall(r'(?:\bsay\(|data-(?:text|label)=|\w\.block\(|\.side\()"(\w+)"', source))
    used |= set(re.findall(r'[?:] "(\w+_\w+)"', source)) | {"this_language"}
    for name in ("ask.py", "inside.py"):
        used |= set(re.findall(r'Refused\(\d+, "(\w+)"', (ROOM / name).read_text("utf-8")))
    used |= {"damaged", "no_words"}
    known = set(texts.load().table("inside", "en"))
    made = {key for key in known if key.startswith(PREFIXES)}
    assert used - known == set()
    assert known - used == made - used
