"""Answers in the shape wttr.in gives to ``format=j1``, made up by us."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

# As the service names them, whatever the language of the question.
KNOWN = {
    "東京": ("Tokyo", "Tokyo", "Japan"),
    "tokyo": ("Tokyo", "Tokyo", "Japan"),
    "大阪": ("Osaka", "Osaka", "Japan"),
    "osaka": ("Osaka", "Osaka", "Japan"),
    "new york": ("New York", "New York", "United States of America"),
    "london": ("London", "City of London, Greater London", "United Kingdom"),
}


@dataclass(frozen=True, slots=True)
class Weather:
    """What the weather is like at a place. ``rain`` is in percent, for the whole day or for its
    eight slots."""

    area: str
    region: str = ""
    country: str = ""
    temp: int = 21
    high: int = 25
    low: int = 15
    condition: str = "Sunny"
    condition_ja: str = "晴れ"
    rain: int | Sequence[int] = 10
    snow: int = 0
    observed: datetime | None = None  # local time of the place, without a zone


def report(weather: Weather, lang: str = "") -> dict[str, Any]:
    """The answer for one place; ``lang`` adds the fields of that language."""
    observed = weather.observed or datetime.now(UTC).replace(tzinfo=None)
    return {
        "current_condition": [_now(weather, observed, lang)],
        "nearest_area": [
            {
                "areaName": [{"value": weather.area}],
                "country": [{"value": weather.country}],
                "latitude": "35.690",
                "longitude": "139.692",
                "population": "0",
                "region": [{"value": weather.region}],
                "weatherUrl": [{"value": ""}],
            }
        ],
        "request": [{"query": "Lat 35.69 and Lon 139.69", "type": "LatLon"}],
        "weather": [_day(weather, observed + timedelta(days=ahead), lang) for ahead in range(3)],
    }


def _now(weather: Weather, observed: datetime, lang: str) -> dict[str, Any]:
    return {
        **_temperatures(temp_=weather.temp, FeelsLike=weather.temp - 1),
        **_described(weather, lang),
        "cloudcover": "25",
        "humidity": "58",
        "localObsDateTime": f"{observed:%Y-%m-%d %I:%M %p}",
        "observation_time": f"{observed:%I:%M %p}",
        "precipMM": "0.0",
        "pressure": "1018",
        "uvIndex": 3,
        "visibility": "10",
        "winddir16Point": "SW",
        "winddirDegree": "235",
        "windspeedKmph": "8",
        "windspeedMiles": "5",
    }


def _day(weather: Weather, date: datetime, lang: str) -> dict[str, Any]:
    chances = [weather.rain] * 8 if isinstance(weather.rain, int) else weather.rain
    return {
        **_temperatures(maxtemp=weather.high, mintemp=weather.low, avgtemp=weather.temp),
        "astronomy": [{"sunrise": "06:49 AM", "sunset": "07:49 PM", "moon_phase": "Full Moon"}],
        "date": f"{date:%Y-%m-%d}",
        "hourly": [
            _slot(weather, 300 * number, chance, lang) for number, chance in enumerate(chances)
        ],
        "sunHour": "10.0",
        "totalSnow_cm": "0.0",
        "uvIndex": "3",
    }


def _slot(weather: Weather, time: int, rain: int, lang: str) -> dict[str, Any]:
    return {
        **_temperatures(temp=weather.temp, FeelsLike=weather.temp - 1),
        **_described(weather, lang),
        "chanceofrain": str(rain),
        "chanceofsnow": str(weather.snow),
        "humidity": "58",
        "time": str(time),
        "windspeedKmph": "8",
    }


def _described(weather: Weather, lang: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "weatherCode": "113",
        "weatherDesc": [{"value": f"{weather.condition} "}],
    }
    if lang and lang != "en":
        translated = [{"value": weather.condition_ja if lang == "ja" else weather.condition}]
        described |= {"lang_xx": translated, f"lang_{lang}": translated}
    return described


def _temperatures(**celsius: int) -> dict[str, str]:
    """Each in Celsius and Fahrenheit, as strings: ``temp_=21`` gives ``temp_C`` and ``temp_F``."""
    return {f"{name}C": str(value) for name, value in celsius.items()} | {
        f"{name}F": str(round(value * 9 / 5 + 32)) for name, value in celsius.items()
    }
