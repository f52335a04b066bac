"""A stand-in for the files of the Japan Meteorological Agency (https://www.jma.go.jp/bosai/).

The Agency documents no interface: the forms are those that its own pages read,
https://www.jma.go.jp/bosai/warning/ (since 28 May 2026 ``data/r8``; the files of ``data/warning``
are still there, but no longer change) and
https://www.jma.go.jp/bosai/map.html#contents=earthquake_map. Like the server it knows a file or
answers 404.

with JmaFake().served() as fake:
    fake.warn("130010", "03")
    fake.quake("東京湾", maxi="4")
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.fakes.sources import Failing

NONE = "発表警報・注意報はなし"
AT = "2026-11-22T17:00:00+09:00"


# An extract of area.json, its names and codes as they are.
AREAS: dict[str, dict[str, dict[str, Any]]] = json.loads(
    Path(__file__).with_name("jma_areas.json").read_text("utf-8")
)
GROUPS = {
    "03": "VPWW55",
    "10": "VPWW55",
    "33": "VPWW55",
    "43": "VPWW55",
    "08": "VPWW57",
}  # of phenomena; others: VPWW61
SHARED = {"014030": "014100"}  # 十勝 has no file of its own


class JmaFake(Failing):
    """The server.

    Attributes:
        requests: paths, in order.
        areas: what area.json has.
        quakes: what list.json has, the newest first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.areas: Any = AREAS
        self.quakes: list[Any] = []
        self._reports: dict[str, list[dict[str, Any]]] = {}

    def warn(self, area: str, code: str, status: str = "発表", at: str = AT, **kind: Any) -> None:
        """Report one kind of warning for one area, in a report of its own; every other area has
        none."""
        office = self._office(area)
        parts = [part for part, entry in AREAS["class10s"].items() if entry["parent"] == office]
        towns = [town for town in AREAS["class20s"] if self._office(town) == office]
        kinds = {area: [{"code": code, "status": status, **kind}]}
        items = [
            [{"areaCode": one, "kinds": kinds.get(one, [{"status": NONE}])} for one in some]
            for some in (parts, towns)
        ]
        report = {
            "controlDatetime": at,
            "reportDatetime": at,
            "infoType": "発表",
            "publishingOffice": "気象庁",
            "headlineText": f"{code}に警戒してください。",
            "warning": {"class10Items": items[0], "class20Items": items[1]},
            "dataTypeCode": GROUPS.get(code, "VPWW61"),
        }
        self._reports.setdefault(SHARED.get(office, office), []).append(report)

    def report(self, office: str, report: Any) -> None:
        """Add a report as it is."""
        self._reports.setdefault(office, []).append(report)

    def quake(self, name: str, english: str = "", **fields: Any) -> None:
        """Add an earthquake, newer than all others, with fields of the file."""
        number = len(self.quakes)
        entry = {
            "ctt": f"202611221700{number:02}",
            "eid": f"20261122165{number:03}",
            "rdt": "2026-11-22T17:00:00+09:00",
            "ttl": "震源・震度情報",
            "ift": "発表",
            "ser": "1",
            "at": f"2026-11-22T16:{number:02}:00+09:00",
            "anm": name,
            "acd": "350",
            "cod": "+35.5+139.8-30000/",
            "mag": "4.1",
            "maxi": "3",
            "int": [],
            "json": "20261122170000_20261122165000_VXSE5k_1.json",
            "en_ttl": "Earthquake and Seismic Intensity Information",
            "en_anm": english,
        }
        self.quakes.insert(0, entry | fields)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append(request.path)
        if failure := await self.failed(request):
            return failure
        if request.path == "/bosai/common/const/area.json":
            return web.json_response(self.areas)
        if request.path == "/bosai/quake/data/list.json":
            return web.json_response(self.quakes)
        office = request.path.removeprefix("/bosai/warning/data/r8/").removesuffix(".json")
        if office in self._reports or (office in AREAS["offices"] and office not in SHARED):
            return web.json_response(self._reports.get(office) or [self._quiet(office)])
        return web.Response(status=404, text="<html>404 Not Found</html>", content_type="text/html")

    def _quiet(self, office: str) -> dict[str, Any]:
        self.warn(
            next(part for part in AREAS["class10s"] if self._office(part) == office), "14", "解除"
        )
        (report,) = self._reports.pop(office)
        return report

    def _office(self, area: str) -> str:
        for level in ("class20s", "class15s", "class10s"):
            if area in AREAS[level]:
                area = AREAS[level][area]["parent"]
        return area
