"""A unit is a name or a product of names with small powers; whatever else a text may be, it is
refused at once."""

from __future__ import annotations

import pytest

from toolset.measures.notation import MAX_LENGTH, Factors, factors
from toolset.tool import ToolError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("km", (("km", 1),)),
        ("  nautical  mile ", (("nautical_mile", 1),)),
        ("°C", (("°C", 1),)),
        ("℃", (("°C", 1),)),
        ("%", (("%", 1),)),
        ("㎡", (("m", 2),)),
        ("m²", (("m", 2),)),
        ("m**3", (("m", 3),)),
        ("s^-1", (("s", -1),)),
        ("km/h", (("km", 1), ("h", -1))),
        ("miles per hour", (("miles", 1), ("hour", -1))),
        ("kg·m/s^2", (("kg", 1), ("m", 1), ("s", -2))),
        ("W/m^2/K", (("W", 1), ("m", -2), ("K", -1))),
        ("sq ft", (("ft", 2),)),
        ("cubic meter", (("meter", 3),)),
        ("平方メートル", (("メートル", 2),)),
        ("平米", (("meter", 2),)),
        ("坪", (("坪", 1),)),
        ("_", (("_", 1),)),
    ],
)
def test_units_are_read_as_people_write_them(text: str, names: Factors) -> None:
    """In any width, with any sign for a product or a power."""
    assert factors(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "/",
        "m/",
        "3 km",
        "1/s",
        "m^99",
        "m^9^9",
        "9**9**9",
        "(m)",
        "m+m",
        "m.__class__",
        "__import__('os')",
        "m;m",
        "a/" * 7 + "a",
        "m" * (MAX_LENGTH + 1),
        "m " * 1_000_000,
        "/" * 1_000_000,
    ],
)
def test_anything_else_is_no_unit(text: str) -> None:
    """Nothing is evaluated, and a long text is not read."""
    with pytest.raises(ToolError, match=r"^not a unit: ") as raised:
        factors(text)
    assert len(str(raised.value)) < 200
