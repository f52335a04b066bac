"""Words for WMO weather codes (table 4677), as far as Open-Meteo uses them:
https://open-meteo.com/en/docs."""

from __future__ import annotations

from toolset.forecast.values import integer

WORDS = {  # in English and Japanese
    0: ("Clear", "快晴"),
    1: ("Mainly clear", "晴れ"),
    2: ("Partly cloudy", "晴れ時々曇り"),
    3: ("Overcast", "曇り"),
    45: ("Fog", "霧"),
    48: ("Freezing fog", "着氷性の霧"),
    51: ("Light drizzle", "弱い霧雨"),
    53: ("Drizzle", "霧雨"),
    55: ("Dense drizzle", "強い霧雨"),
    56: ("Light freezing drizzle", "弱い着氷性の霧雨"),
    57: ("Freezing drizzle", "着氷性の霧雨"),
    61: ("Light rain", "弱い雨"),
    63: ("Rain", "雨"),
    65: ("Heavy rain", "強い雨"),
    66: ("Light freezing rain", "弱い着氷性の雨"),
    67: ("Freezing rain", "着氷性の雨"),
    71: ("Light snow", "弱い雪"),
    73: ("Snow", "雪"),
    75: ("Heavy snow", "強い雪"),
    77: ("Snow grains", "霧雪"),
    80: ("Light rain showers", "弱いにわか雨"),
    81: ("Rain showers", "にわか雨"),
    82: ("Violent rain showers", "激しいにわか雨"),
    85: ("Snow showers", "にわか雪"),
    86: ("Heavy snow showers", "激しいにわか雪"),
    95: ("Thunderstorm", "雷雨"),
    96: ("Thunderstorm with light hail", "雹を伴う雷雨"),
    99: ("Thunderstorm with heavy hail", "激しい雹を伴う雷雨"),
}
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
