"""Parser of an office's warnings (``/bosai/warning/data/r8/{office}.json``).

The file is a list of reports, one for each group of phenomena (VPWW55 to VPWW61). A report says the
present state:

    {"reportDatetime": "…", "headlineText": "…", "warning": {
        "class10Items": [{"areaCode": "130010", "kinds": [{"code": "14", "status": "継続",
        "additions": ["竜巻"]}]}], "class20Items": [{"areaCode": "1310100", "kinds": [{"status":
        "発表警報・注意報はなし"}]}]}}

``class20Items`` may be missing. A status that is not of ``NOT_IN_FORCE`` (発表, 継続,
警報から注意報, …) is in force.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolset.jma.values import JST, moment
from toolset.web.json_values import as_list, as_object, entries
from toolset.web.text import line

NOT_IN_FORCE = frozenset({"解除", "なし", "発表警報・注意報はなし"})
CODE = re.compile(r"[0-9]{2}")
HEADLINE_CAP = 300
ADDITIONS_CAP = 6
EARLIEST = datetime.min.replace(tzinfo=JST)


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of one kind of warning in one area."""

    area: str
    code: str
    status: str
    additions: tuple[str, ...]
    headline: str
    issued: datetime | None


class WarningReports:
    """The reports of one office.

    Args:
        data: the decoded file; whatever is not in its form is left out.
    """

    def __init__(self, data: object) -> None:
        self._reports = sorted(
            entries(data), key=lambda report: moment(report.get("reportDatetime")) or EARLIEST
        )

    def covers(self, codes: Collection[str], class10: str = "") -> bool:
        """Whether any report says something about one of the areas; arguments as for
        ``in_force``."""
        named = {area for report in self._reports for area, _ in _states(report)}
        has_municipalities = any(map(_has_municipalities, self._reports))
        return not named.isdisjoint(codes if has_municipalities or not class10 else {class10})

    def in_force(self, codes: Collection[str], class10: str = "") -> list[Entry]:
        """The warnings in force in the areas.

        Args:
            class10: the part that municipalities are in: of a report without municipalities, its
                state counts.
        """
        states: dict[tuple[str, str], Entry] = {}
        for report in self._reports:
            looked_for = codes if _has_municipalities(report) or not class10 else {class10}
            for area, kind in _states(report):
                if area in looked_for and CODE.fullmatch(code := line(kind.get("code"))):
                    states[area, code] = _entry(
                        report, area, code, kind
                    )  # a later report replaces an earlier one
        return [entry for entry in states.values() if entry.status not in NOT_IN_FORCE]


def _has_municipalities(report: dict[str, Any]) -> bool:
    return "class20Items" in as_object(report.get("warning"))


def _states(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each area's code with each of its kinds."""
    warning = as_object(report.get("warning"))
    for items in ("class10Items", "class20Items"):
        for item in entries(warning.get(items)):
            for kind in entries(item.get("kinds")):
                yield line(item.get("areaCode")), kind


def _entry(report: dict[str, Any], area: str, code: str, kind: dict[str, Any]) -> Entry:
    additions = [line(one, 40) for one in as_list(kind.get("additions"))[:ADDITIONS_CAP]]
    return Entry(
        area=area,
        code=code,
        status=line(kind.get("status"), 40),
        additions=tuple(filter(None, additions)),
        headline=line(report.get("headlineText"), HEADLINE_CAP),
        issued=moment(report.get("reportDatetime")),
    )
