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


TABLE = """\
10 レベル2大雨注意報 Level 2 Heavy Rain Advisory
03 レベル3大雨警報 Level 3 Heavy Rain Warning
43 レベル4大雨危険警報 Level 4 Heavy Rain Urgent Warning
33 レベル5大雨特別警報 Level 5 Heavy Rain Emergency Warning
29 レベル2土砂災害注意報 Level 2 Landslide Advisory
09 レベル3土砂災害警報 Level 3 Landslide Warning
49 レベル4土砂災害危険警報 Level 4 Landslide Urgent Warning
39 レベル5土砂災害特別警報 Level 5 Landslide Emergency Warning
19 レベル2高潮注意報 Level 2 Storm Surge Advisory
08 レベル3高潮警報 Level 3 Storm Surge Warning
48 レベル4高潮危険警報 Level 4 Storm Surge Urgent Warning
38 レベル5高潮特別警報 Level 5 Storm Surge Emergency Warning
32 暴風雪特別警報 Snow-storm Emergency Warning
35 暴風特別警報 Storm Emergency Warning
36 大雪特別警報 Heavy Snow Emergency Warning
37 波浪特別警報 High Wave Emergency Warning
02 暴風雪警報 Snow-storm Warning
05 暴風警報 Storm Warning
06 大雪警報 Heavy Snow Warning
07 波浪警報 High Wave Warning
12 大雪注意報 Heavy Snow Advisory
13 風雪注意報 Gale and Snow Advisory
14 雷注意報 Thunderstorm Advisory
15 強風注意報 Gale Advisory
16 波浪注意報 High Wave Advisory
17 融雪注意報 Snow Melting Advisory
20 濃霧注意報 Dense Fog Advisory
21 乾燥注意報 Dry Air Advisory
22 なだれ注意報 Avalanche Advisory
23 低温注意報 Low Temperature Advisory
24 霜注意報 Frost Advisory
25 着氷注意報 Ice Accretion Advisory
26 着雪注意報 Snow Accretion Advisory
"""
# How the English names end, the longest first.
TERMS: dict[str, Severity] = {
    "Emergency Warning": "emergency warning",
    "Urgent Warning": "urgent warning",
    "Warning": "warning",
    "Advisory": "advisory",
}


def _read(row: str) -> tuple[str, WarningKind]:
    """Code and kind of a row of the table."""
    code, name, name_en = row.split(maxsplit=2)
    severity = next(TERMS[term] for term in TERMS if name_en.endswith(term))
    words = name_en.split()
    level = int(words[1]) if words[0] == "Level" else 0
    return code, WarningKind(name, name_en, severity, level)


KINDS = dict(map(_read, TABLE.splitlines()))
