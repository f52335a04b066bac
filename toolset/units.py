"""``convert_units``: a quantity in another unit, Japan's traditional ones included."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError
from toolset.web.cache import SharedCache

if TYPE_CHECKING:
    from toolset.measures.registry import Registry

# a registry keeps every unit and pair it has converted, so an hour's questions bound its memory
KEEP_S = 3600.0


def load_registry() -> Registry:
    """pint's units and ours."""
    from toolset.measures.registry import Registry

    return Registry()


class ConvertUnits(Tool):
    """Loads the units at the first call.

    Args:
        load: makes a registry, in a thread.
    """

    name = "convert_units"
    description = (
        "Converts a quantity between units of measurement: length, area, volume, mass, "
        "temperature, speed, pressure, energy, data and more, also 坪 畳 合 升 尺 里. Use it "
        "instead of reckoning yourself. The result names the units as they were understood: if "
        "others were meant, call again with another name. Not for money."
    )
    keywords = (
        "length distance area volume weight mass temperature speed pressure energy mile km "
        "kilometre metre square inch foot yard acre hectare litre gallon ounce cup pound kg gram "
        "fahrenheit celsius degrees tsubo 単位 換算 変換 長 距離 面積 広 重 体積 温度 速 坪 畳 "
        "平米 平方 キロ グラム ポンド マイル フィート インチ リットル 華氏 摂氏 度"
    )
    risk = "low"
    public = True
    titles = words(en="Unit conversion", ja="単位の換算")
    timeout_s = 3
    commands = ("units", "単位")

    def __init__(self, load: Callable[[], Registry] = load_registry) -> None:
        self._load = load
        self._loaded: SharedCache[Registry] = SharedCache(KEEP_S, 1)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Convert ``value``.

        Raises:
            ToolError: an unknown unit, units of different kinds, or a number that is none.
        """
        value = arguments["value"]
        if not math.isfinite(value):
            raise ToolError("invalid parameters: value: write a number")
        registry = await self._loaded.get("units", lambda: asyncio.to_thread(self._load))
        source, target = registry.unit(arguments["from"]), registry.unit(arguments["to"])
        result = {
            "value": f"{value:.15g}",
            "from": str(source),
            "to": str(target),
            "result": registry.convert(float(value), source, target),
        }
        note = registry.notes(source, target)
        return result | {"note": note} if note else result
