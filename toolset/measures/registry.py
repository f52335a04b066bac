"""pint's units and ours, found by the names people write, and conversions between them."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any

import pint

from toolset.measures.definitions import DEFINITIONS, NAMES, NOTES
from toolset.measures.notation import factors
from toolset.tool import ToolError

SHORT = 3  # letters up to which upper and lower case tell units apart: mW and MW
DIGITS = 10  # significant, of a result


class Registry:
    """Loading takes a fifth of a second; conversions take less than a millisecond."""

    def __init__(self) -> None:
        self._pint: Any = pint.UnitRegistry(cache_folder=None)
        for definition in DEFINITIONS:
            self._pint.define(definition)
        self._names = frozenset(self._pint._units)

    def unit(self, text: str) -> Any:
        """The unit that a text means.

        Raises:
            ToolError: the text is no unit, or names an unknown one; the text suggests others.
        """
        named = [(self._name(name), power) for name, power in factors(text)]
        if (
            len(named) > 1 or named[0][1] != 1
        ):  # in compounds °C is a difference: it has no zero there
            named = [(self._difference(name), power) for name, power in named]
        unit = self._pint.Unit("")
        for name, power in named:
            unit = unit * self._pint.Unit(pint.util.UnitsContainer({name: 1})) ** power
        return unit

    def convert(self, value: float, source: Any, target: Any) -> str:
        """The value in another unit, as a decimal number.

        Raises:
            ToolError: units of different kinds, or a result beyond the numbers of a computer.
        """
        try:
            result = float(self._pint.Quantity(value, source).to(target).magnitude)
        except pint.DimensionalityError as error:
            kinds = f"{source} is {source.dimensionality}, {target} is {target.dimensionality}"
            if source.dimensionality == target.dimensionality:
                kinds = (
                    f"one of {source} and {target} is a difference; write delta_degC or "
                    "delta_degF for both"
                )
            raise ToolError(f"units of different kinds: {kinds}") from error
        except (ArithmeticError, ValueError):
            result = math.inf
        if not math.isfinite(result):
            raise ToolError("the result is too large for a number")
        return f"{result + 0.0:.{DIGITS}g}"

    def notes(self, *units: Any) -> str:
        """What a person should know about the units; mostly empty."""
        names = dict.fromkeys(name for unit in units for name in unit._units)
        return "; ".join(NOTES[name] for name in names if name in NOTES)

    def _name(self, written: str) -> str:
        """pint's own name for a unit."""
        names = [NAMES.get(written, written)]
        if len(written) > SHORT:
            names.append(written.casefold())
        for name in names:
            for prefix, unit, _ in self._pint.parse_unit_name(name)[:1]:
                # pint would take any number of prefixes.
                if not (prefix and self._pint.parse_unit_name(unit)[0][0]):
                    return self._defined(prefix + unit, written)
        raise self._unknown(written)

    def _defined(self, name: str, written: str) -> str:
        try:
            return str(self._pint.get_name(name))
        except pint.PintError as error:  # a prefix before a unit that takes none, such as °C
            raise self._unknown(written) from error

    def _difference(self, name: str) -> str:
        delta = f"delta_{name}"
        return delta if delta in self._names else name

    def _unknown(self, written: str) -> ToolError:
        near = get_close_matches(written, self._names, n=3, cutoff=0.75)
        fix = (
            f" Did you mean {' or '.join(sorted(near))}?"
            if near
            else " Write its English name or its symbol."
        )
        return ToolError(f"unknown unit: {written}.{fix}")
