"""A stand-in for the files of the Japan Meteorological Agency (https://www.jma.go.jp/bosai/).

The Agency documents no interface: the forms are those that its own pages read,
https://www.jma.go.jp/bosai/warning/ (since 28 May 2026 ``data/r8``; the files of ``data/warning``
are still there, but no longer change) and
https://www.jma.go.jp/bosai/map.html#contents=earthquake_map. Like the server it knows a file or
answers 404.

with jma_fake() as fake:
    fake.warn("130010", "03")
    fake.quake("東京湾", maxi="4")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from tests.fakes.failures import Failing
from tests.fakes.serving import serving

NONE = "発表警報・注意報はなし"
AT = "2026-11-22T17:00:00+09:00"


def _named(name: str, english: str, parent: str, *children: str) -> dict[str, Any]:
    return {"name": name, "enName": english, "parent": parent, "children": list(children)}


# An extract of area.json, its names and codes as they are.
AREAS: dict[str, dict[str, dict[str, Any]]] = {
    "centers": {
        "010100": {
            "name": "北海道地方",
            "enName": "Hokkaido",
            "officeName": "札幌管区気象台",
            "children": ["014030", "016000"],
        },
        "010300": {
            "name": "関東甲信地方",
            "enName": "Kanto Koshin",
            "officeName": "気象庁",
            "children": ["130000", "140000"],
        },
        "010700": {
            "name": "中国地方（山口県を除く）",
            "enName": "Chugoku (Excluding Yamaguchi)",
            "children": ["340000"],
        },
    },
    "offices": {
        "014030": _named("十勝地方", "Tokachi", "010100", "014030"),
        "016000": _named("石狩・空知・後志地方", "Ishikari Sorachi Shiribeshi", "010100", "016010"),
        "130000": _named("東京都", "Tokyo", "010300", "130010", "130020"),
        "140000": _named("神奈川県", "Kanagawa", "010300", "140010"),
        "340000": _named("広島県", "Hiroshima", "010700", "340010"),
    },
    "class10s": {
        "014031": _named("十勝地方", "Tokachi Region", "014030"),
        "016010": _named("石狩地方", "Ishikari Region", "016000", "016012"),
        "130010": _named("東京地方", "Tokyo Region", "130000", "130011", "130013"),
        "130020": _named("伊豆諸島北部", "Izu North", "130000"),
        "140010": _named("東部", "Eastern Region", "140000", "140011"),
        "340010": _named("南部", "Southern Region", "340000", "340014"),
    },
    "class15s": {
        "016012": _named("石狩中部", "Central Ishikari", "016010", "0110000"),
        "130011": _named("２３区西部", "Western Region of 23 wards", "130010", "1310100"),
        "130013": _named("多摩北部", "Northern Tama", "130010", "1320600"),
        "140011": _named("横浜・川崎", "Yokohama, Kawasaki", "140010", "1410011", "1410012"),
        "340014": _named("福山・尾三", "Fukuyama, Bisan", "340010", "3420800"),
    },
    "class20s": {
        "0110000": _named("札幌市", "Sapporo City", "016012"),
        "1310100": _named("千代田区", "Chiyoda City", "130011"),
        "1320600": _named("府中市", "Fuchu City", "130013"),
        "1410011": _named("横浜市北部", "Northern Yokohama City", "140011"),
        "1410012": _named("横浜市南部", "Southern Yokohama City", "140011"),
        "3420800": _named("府中市", "Fuchu City", "340014"),
    },
}
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
        base_url: what JMA_BASE_URL must be.
        requests: paths, in order.
        areas: what area.json has.
        quakes: what list.json has, the newest first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.base_url = ""
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


@contextmanager
def jma_fake() -> Iterator[JmaFake]:
    """A running fake on a free port of this machine."""
    fake = JmaFake()
    application = web.Application()
    application.router.add_get("/{path:.*}", fake.handle)
    with serving(application) as fake.base_url:
        yield fake
