"""``convert_units``: quantities of any kind, Japan's units too, or an error the model
understands."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pint
import pytest

from tests.toolset.contexts import context, error_of, response_of
from toolset.measures.definitions import DEFINITIONS, NAMES, NOTES
from toolset.measures.registry import Registry
from toolset.tool import ValidatedTool, read_schemas
from toolset.units import ConvertUnits


@pytest.fixture(scope="module")
def registry() -> Registry:
    """The units, loaded once."""
    return Registry()


@pytest.fixture
def units(registry: Registry) -> ValidatedTool:
    """The tool between its schemas, its units already loaded."""
    return ValidatedTool(ConvertUnits(lambda: registry), *read_schemas("convert_units"))


async def convert(units: ValidatedTool, value: float, source: str, target: str) -> dict[str, Any]:
    """The whole result."""
    return await response_of(units, **{"value": value, "from": source, "to": target})


async def refusal(units: ValidatedTool, value: float, source: str, target: str) -> str:
    """The text of an error."""
    return await error_of(units, **{"value": value, "from": source, "to": target})


async def test_a_result_names_the_units_as_they_were_understood() -> None:
    """The tool loads its units at the first call."""
    asked = {"value": 100, "from": "km/h", "to": "mph"}
    assert await ConvertUnits().call(asked, context()) == {
        "value": "100",
        "from": "kilometer / hour",
        "to": "mile_per_hour",
        "result": "62.13711922",
    }


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (100, "degC", "degF", "212"),
        (-40, "℃", "°F", "-40"),
        (36.6, "Celsius", "Fahrenheit", "97.88"),
        (0, "K", "degC", "-273.15"),
        (10, "delta_degC", "delta_degF", "18"),
        (1, "W/m^2/degC", "W/m²/K", "1"),
        (1, "mile", "km", "1.609344"),
        (180, "cm", "ft", "5.905511811"),
        (1, "ton", "kg", "1000"),
        (1, "fl oz", "mL", "29.57352956"),
        (1, "ha", "are", "100"),
        (1, "sq ft", "cm2", "929.0304"),
        (1, "GB", "MiB", "953.6743164"),
        (1, "kg*m/s^2", "N", "1"),
        (25, "mile/gallon", "km/L", "10.62859269"),
        (5, "キログラム", "ポンド", "11.02311311"),
        (50, "%", "ppm", "500000"),
        (0.1, "m", "m", "0.1"),
        (-0.0, "m", "km", "0"),
        (1e-9, "m", "km", "1e-12"),
    ],
)
async def test_quantities_are_converted(
    units: ValidatedTool, value: float, source: str, target: str, result: str
) -> None:
    """Temperatures by their zero, differences and compounds without it."""
    assert (await convert(units, value, source, target))["result"] == result


@pytest.mark.parametrize(
    ("source", "target", "result"),
    [
        ("尺", "寸", "10"),
        ("尺", "cm", "30.3030303"),
        ("間", "尺", "6"),
        ("里", "km", "3.927272727"),
        ("坪", "m²", "3.305785124"),
        ("町歩", "坪", "3000"),
        ("反", "畝", "10"),
        ("畳", "平米", "1.62"),
        ("tatami", "tsubo", "0.49005"),
        ("升", "L", "1.803906837"),
        ("合", "mL", "180.3906837"),
        ("石", "斗", "10"),
        ("貫", "kg", "3.75"),
        ("匁", "g", "3.75"),
        ("斤", "g", "600"),
    ],
)
async def test_japans_units_have_the_sizes_of_their_law(
    units: ValidatedTool, source: str, target: str, result: str
) -> None:
    """Of 1891."""
    assert (await convert(units, 1, source, target))["result"] == result


async def test_a_size_that_is_not_fixed_comes_with_a_note(units: ValidatedTool) -> None:
    """Whichever side it is on, once."""
    assert (await convert(units, 6, "畳", "帖"))["note"].startswith("a 畳 has no fixed size")
    assert "a Japanese cup has 200 mL" in (await convert(units, 1, "L", "cups"))["note"]


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("kg", "m", "units of different kinds: kilogram is [mass], meter is [length]"),
        ("坪", "L", "units of different kinds: 坪 is [length] ** 2, liter is [length] ** 3"),
        (
            "delta_degC",
            "degF",
            "units of different kinds: one of delta_degree_Celsius and degree_Fahrenheit is a "
            "difference; "
            "write delta_degC or delta_degF for both",
        ),
        ("meterz", "m", "unknown unit: meterz. Did you mean meter?"),
        ("Tokyo", "m", "unknown unit: Tokyo. Write its English name or its symbol."),
        ("kilokilometer", "m", "unknown unit: kilokilometer. Did you mean kilometer?"),
        ("millidegC", "K", "unknown unit: millidegC. Write its English name or its symbol."),
    ],
)
async def test_what_cannot_be_converted_is_told(
    units: ValidatedTool, source: str, target: str, text: str
) -> None:
    """With what is wrong about it, and what to write instead."""
    assert await refusal(units, 1, source, target) == text


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 1e200, 10**400], ids=["nan", "infinite", "1e200", "int"]
)
async def test_a_value_is_a_reasonable_number(units: ValidatedTool, value: float) -> None:
    """Others are refused."""
    assert (await refusal(units, value, "m", "km")).startswith("invalid parameters: value: ")


@pytest.mark.parametrize(("source", "target"), [("dBm", "mW"), ("Ym^9", "ym^9")])
async def test_a_result_without_end_is_an_error(
    units: ValidatedTool, source: str, target: str
) -> None:
    """Nothing overflows in silence."""
    assert await refusal(units, 1e90, source, target) == "the result is too large for a number"


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "m**999999999",
        "__import__('os').system('id')",
        "(((((((((m)))))))))",
        "m" * 60,
        "yotta" * 12,
        "a/" * 29 + "a",
        "km^9/mm^9/km^9",
    ],
)
async def test_hostile_texts_are_answered_at_once(units: ValidatedTool, text: str) -> None:
    """Nothing is evaluated."""
    started = time.monotonic()
    json.dumps(await refusal(units, 1, text, "kg"))
    assert time.monotonic() - started < 0.5


async def test_the_units_are_loaded_once(units: ValidatedTool) -> None:
    """Calls at once share them."""
    results = await asyncio.gather(*(convert(units, 1, "mile", "km") for _ in range(20)))
    assert {reported["result"] for reported in results} == {"1.609344"}


def test_every_name_of_the_list_is_a_unit(registry: Registry) -> None:
    """And none of ours takes the place of one of pint's."""
    for name in [*NAMES, *NOTES]:
        assert str(registry.unit(name))
    ours = [
        name
        for line in DEFINITIONS
        for name in line.replace(" ", "").split("=")
        if name.isidentifier()
    ]
    assert "tsubo" in ours
    theirs: Any = pint.UnitRegistry(cache_folder=None)
    assert [name for name in ours if name != "_" and theirs.parse_unit_name(name)] == []
