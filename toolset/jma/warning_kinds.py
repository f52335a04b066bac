"""The kinds of weather warnings by the Agency's codes, in the form in use since 28 May 2026.

The 33 codes and Japanese names are those of the Agency's warning page
(https://www.jma.go.jp/bosai/warning/), the English terms those of its multilingual dictionary.
Rain, landslides and storm surges have an alert level from 2 to 5. Floods of rivers (formerly 04 and
18) are forecast for each river in another file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["emergency warning", "urgent warning", "warning", "advisory", "unknown"]

SEVERITIES: tuple[Severity, ...] = (
    "emergency warning",
    "urgent warning",
    "warning",
    "unknown",
    "advisory",
)  # worst first


@dataclass(frozen=True, slots=True)
class WarningKind:
    """A kind of warning; ``level`` is 0 where it has none."""

    name: str
    name_en: str
    severity: Severity
    level: int = 0

    def named(self, language: str) -> str:
        return self.name if language == "ja" else self.name_en


def kind(code: str) -> WarningKind:
    """The kind of a code, which may be a new one."""
    if code in KINDS:
        return KINDS[code]
    return WarningKind(
        f"種類不明の警報等（コード{code}）",
        f"Warning or advisory of an unknown kind (code {code})",
        "unknown",
    )


def _levelled(
    phenomenon: str, phenomenon_en: str, codes: tuple[str, str, str, str]
) -> dict[str, WarningKind]:
    """The kinds of levels 2 to 5 of one phenomenon."""
    terms: tuple[tuple[str, str, Severity], ...] = (
        ("注意報", "Advisory", "advisory"),
        ("警報", "Warning", "warning"),
        ("危険警報", "Urgent Warning", "urgent warning"),
        ("特別警報", "Emergency Warning", "emergency warning"),
    )
    return {
        code: WarningKind(
            f"レベル{level}{phenomenon}{term}",
            f"Level {level} {phenomenon_en} {term_en}",
            severity,
            level,
        )
        for level, (code, (term, term_en, severity)) in enumerate(zip(codes, terms, strict=True), 2)
    }


KINDS = {
    **_levelled("大雨", "Heavy Rain", ("10", "03", "43", "33")),
    **_levelled("土砂災害", "Landslide", ("29", "09", "49", "39")),
    **_levelled("高潮", "Storm Surge", ("19", "08", "48", "38")),
    "32": WarningKind("暴風雪特別警報", "Snow-storm Emergency Warning", "emergency warning"),
    "35": WarningKind("暴風特別警報", "Storm Emergency Warning", "emergency warning"),
    "36": WarningKind("大雪特別警報", "Heavy Snow Emergency Warning", "emergency warning"),
    "37": WarningKind("波浪特別警報", "High Wave Emergency Warning", "emergency warning"),
    "02": WarningKind("暴風雪警報", "Snow-storm Warning", "warning"),
    "05": WarningKind("暴風警報", "Storm Warning", "warning"),
    "06": WarningKind("大雪警報", "Heavy Snow Warning", "warning"),
    "07": WarningKind("波浪警報", "High Wave Warning", "warning"),
    "12": WarningKind("大雪注意報", "Heavy Snow Advisory", "advisory"),
    "13": WarningKind("風雪注意報", "Gale and Snow Advisory", "advisory"),
    "14": WarningKind("雷注意報", "Thunderstorm Advisory", "advisory"),
    "15": WarningKind("強風注意報", "Gale Advisory", "advisory"),
    "16": WarningKind("波浪注意報", "High Wave Advisory", "advisory"),
    "17": WarningKind("融雪注意報", "Snow Melting Advisory", "advisory"),
    "20": WarningKind("濃霧注意報", "Dense Fog Advisory", "advisory"),
    "21": WarningKind("乾燥注意報", "Dry Air Advisory", "advisory"),
    "22": WarningKind("なだれ注意報", "Avalanche Advisory", "advisory"),
    "23": WarningKind("低温注意報", "Low Temperature Advisory", "advisory"),
    "24": WarningKind("霜注意報", "Frost Advisory", "advisory"),
    "25": WarningKind("着氷注意報", "Ice Accretion Advisory", "advisory"),
    "26": WarningKind("着雪注意報", "Snow Accretion Advisory", "advisory"),
}
