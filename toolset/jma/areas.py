"""The areas for which the Agency issues warnings (``/bosai/common/const/area.json``), found by
name.

The levels, from large to small: centers (regions: 関東甲信地方), offices (prefectures: 東京都;
Hokkaido, Kagoshima and Okinawa have several), class10s (parts of them: 伊豆諸島北部), class15s (not
used here), class20s (municipalities: 千代田区; some large cities are divided: 横浜市北部). Every
area has ``name`` and ``enName`` and, but for centers,
``parent``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from toolset.web.json_values import as_object
from toolset.web.text import folded, line

Level = Literal["offices", "centers", "class10s", "class20s"]

LEVELS: tuple[Level, ...] = (
    "offices",
    "centers",
    "class10s",
    "class20s",
)  # of two areas of one name, the first is meant
PARENTS = {
    "class20s": "class15s",
    "class15s": "class10s",
    "class10s": "offices",
    "offices": "centers",
}
CODE = re.compile(r"\d{6,7}")
BRACKETS = re.compile(r"\([^()]*\)")
SEPARATOR = re.compile(r"[,、]|(?<=[^\x00-\x7f])\s+(?=[^\x00-\x7f])")
PREFECTURE = re.compile(r"(.{2,3}?[都道府県])(.+)")
SUFFIX = re.compile(
    r"(?:地方|[都道府県市区町村])$"
    r"|[ -](?:city|town|village|ward|region|district|prefecture|shi|ku|ken|fu|to|cho|machi|mura)$"
)
COUNTRY = frozenset({"japan", "日本"})


@dataclass(frozen=True, slots=True)
class Area:
    """One area.

    Attributes:
        offices: codes of the offices that it is a part of, or, for a center, consists of.
        class10: code of the part that a municipality is in; a part's own; else empty.
        above: names of the areas that it is in, as they are compared.
    """

    level: Level
    code: str
    name: str
    name_en: str
    offices: tuple[str, ...]
    class10: str = ""
    above: frozenset[str] = frozenset()

    def named(self, language: str) -> str:
        return (self.name if language == "ja" else self.name_en) or self.name or self.name_en


class Areas:
    """All areas.

    Args:
        data: the decoded file; whatever is not in its form is left out.
    """

    def __init__(self, data: object) -> None:
        self._by_code = {area.code: area for area in _read(as_object(data))}
        self._full: dict[str, list[Area]] = {}
        self._bare: dict[str, list[Area]] = {}
        for area in self._by_code.values():
            for name in {_folded(area.name), _folded(area.name_en)} - {""}:
                self._full.setdefault(name, []).append(area)
                self._bare.setdefault(_bare(name), []).append(area)

    def __len__(self) -> int:
        return len(self._by_code)

    def __getitem__(self, code: str) -> Area:
        return self._by_code[code]

    def get(self, code: str) -> Area | None:
        return self._by_code.get(code)

    def parts(self, office: str) -> list[Area]:
        """The class10s of an office."""
        return [
            area
            for area in self._by_code.values()
            if area.level == "class10s" and area.offices == (office,)
        ]

    def find(self, place: str) -> list[Area]:
        """The areas of one level that a place may be: 東京, Tokyo, 府中市 広島県, 広島県府中市,
        Fuchu, Hiroshima."""
        pieces = map(_folded, SEPARATOR.split(unicodedata.normalize("NFKC", place)))
        names = [piece for piece in pieces if piece and piece not in COUNTRY]
        if not names:
            return []
        for name, *regions in (names, names[::-1]):
            found = self._find(name, regions)
            if not found and (split := PREFECTURE.fullmatch(name)):
                found = self._find(split[2], [split[1], *regions])
            if found:
                return found
        return []

    def similar(self, place: str, language: str) -> list[str]:
        """Names like that of an unknown place."""
        near = get_close_matches(_bare(_folded(place)), self._bare, n=3, cutoff=0.7)
        return list(
            dict.fromkeys(area.named(language) for key in near for area in self._bare[key])
        )[:3]

    def described(self, area: Area, language: str) -> str:
        """The name of an area, with its office's for a smaller one."""
        office = None
        if area.level in ("class10s", "class20s"):
            office = self._by_code.get(area.offices[0])
        if office is None:
            return area.named(language)
        if language == "ja":
            return f"{office.named('ja')} {area.named('ja')}"
        return f"{area.named(language)}, {office.named(language)}"

    def _find(self, name: str, regions: list[str]) -> list[Area]:
        for index, key in ((self._full, name), (self._bare, name), (self._bare, _bare(name))):
            matches = [area for area in index.get(key, ()) if _is_in(area, regions)]
            for level in LEVELS:
                if found := [area for area in matches if area.level == level]:
                    return found
        return [
            area
            for area in self._by_code.values()
            if _is_in(area, regions) and _is_part(area, _bare(name))
        ]


def _read(data: dict[str, Any]) -> Iterator[Area]:
    tables = {level: as_object(data.get(level)) for level in (*LEVELS, "class15s")}
    for level in LEVELS:
        for code, entry in tables[level].items():
            name, name_en = line(as_object(entry).get("name")), line(as_object(entry).get("enName"))
            if not CODE.fullmatch(code) or not (name or name_en):
                continue
            ancestors = dict(_ancestors(tables, level, code))
            offices = (
                _offices(tables, code) if level == "centers" else (ancestors.get("offices", ""),)
            )
            if all(offices):
                above = _names(
                    as_object(tables[at].get(ancestors[at]))
                    for at in ("offices", "centers")
                    if at in ancestors
                )
                yield Area(
                    level,
                    code,
                    name,
                    name_en=name_en,
                    offices=offices,
                    class10=ancestors.get("class10s", ""),
                    above=above,
                )


def _ancestors(
    tables: dict[str, dict[str, Any]], level: str, code: str
) -> Iterator[tuple[str, str]]:
    """The level and code of an area and of all that it is in."""
    while code in tables[level]:
        yield level, code
        if level not in PARENTS:
            return
        level, code = PARENTS[level], line(as_object(tables[level][code]).get("parent"))


def _offices(tables: dict[str, dict[str, Any]], center: str) -> tuple[str, ...]:
    return tuple(
        code
        for code, entry in tables["offices"].items()
        if as_object(entry).get("parent") == center
    )


def _names(above: Iterable[dict[str, Any]]) -> frozenset[str]:
    names = (_folded(line(entry.get(field))) for entry in above for field in ("name", "enName"))
    return frozenset(_bare(name) for name in names if name)


def _is_in(area: Area, regions: list[str]) -> bool:
    return all({region, _bare(region)} & area.above for region in regions)


def _is_part(area: Area, name: str) -> bool:
    """Whether a municipality's name begins with a name, or, in English, has all its words:
    横浜市北部 is in 横浜."""
    if area.level != "class20s" or len(name) < 2:
        return False
    if name.isascii():
        return set(name.split()) <= set(_folded(area.name_en).split())
    return _folded(area.name).startswith(name)


def _folded(name: str) -> str:
    """Without case, accents, brackets and repeated spaces."""
    return " ".join(BRACKETS.sub("", folded(name)).split())


def _bare(name: str) -> str:
    """A folded name without the word that says what it is; one that consists of it stays."""
    return SUFFIX.sub("", name) or name
