"""Words for WMO weather codes (table 4677), as far as Open-Meteo uses them:
https://open-meteo.com/en/docs."""

from __future__ import annotations

from toolset.forecast.values import integer

# Each code, in Japanese and in English.
TABLE = """\
0 快晴 Clear
1 晴れ Mainly clear
2 晴れ時々曇り Partly cloudy
3 曇り Overcast
45 霧 Fog
48 着氷性の霧 Freezing fog
51 弱い霧雨 Light drizzle
53 霧雨 Drizzle
55 強い霧雨 Dense drizzle
56 弱い着氷性の霧雨 Light freezing drizzle
57 着氷性の霧雨 Freezing drizzle
61 弱い雨 Light rain
63 雨 Rain
65 強い雨 Heavy rain
66 弱い着氷性の雨 Light freezing rain
67 着氷性の雨 Freezing rain
71 弱い雪 Light snow
73 雪 Snow
75 強い雪 Heavy snow
77 霧雪 Snow grains
80 弱いにわか雨 Light rain showers
81 にわか雨 Rain showers
82 激しいにわか雨 Violent rain showers
85 にわか雪 Snow showers
86 激しいにわか雪 Heavy snow showers
95 雷雨 Thunderstorm
96 雹を伴う雷雨 Thunderstorm with light hail
99 激しい雹を伴う雷雨 Thunderstorm with heavy hail
"""
WORDS: dict[int, tuple[str, str]] = {}
for _row in TABLE.splitlines():
    _code, _japanese, _english = _row.split(maxsplit=2)
    WORDS[int(_code)] = _english, _japanese
SNOW = frozenset({71, 73, 75, 77, 85, 86})


def words(code: object, language: str) -> str:
    """What a code means, in Japanese for ``ja``, else in English; empty for an unknown one."""
    english, japanese = WORDS.get(_number(code), ("", ""))
    return japanese if language == "ja" else english


def is_snow(code: object) -> bool:
    """Whether what falls is snow."""
    return _number(code) in SNOW


def _number(code: object) -> int:
    number = integer(code)
    return -1 if number is None else number
