"""Client of the Agency's files, with a cache for each."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Self

import httpx
from pydantic import BaseModel

from toolset.jma import quakes
from toolset.jma.areas import Areas
from toolset.jma.quakes import Quake
from toolset.jma.warning_reports import WarningReports
from toolset.tool import Tool, ToolError
from toolset.web.cache import SharedCache
from toolset.web.source import BaseUrl, Source, StatusError

TIMEOUT_S = 3
DATA_S = 60
AREAS_S = 24 * 60 * 60
OFFICES = 64
SOURCE = {"ja": "気象庁", "en": "Japan Meteorological Agency"}
CAP = 8 * 1024 * 1024  # bytes: the list of earthquakes names every municipality that felt one
NOT_FOUND = 404

# 十勝's warnings are issued with those of its neighbour; its own file is asked for first, should
# there be one.
SHARED_FILES = {"014030": "014100"}


class JmaConfig(BaseModel):
    """The service."""

    jma_base_url: BaseUrl = "https://www.jma.go.jp"


class JmaClient:
    """A client of one server.

    Args:
        base_url: scheme, host and port.
    """

    def __init__(self, http: httpx.AsyncClient, base_url: str) -> None:
        self._source = Source(http, base_url, TIMEOUT_S, CAP)
        self._areas: SharedCache[Areas] = SharedCache(AREAS_S, 1)
        self._warnings: SharedCache[WarningReports] = SharedCache(DATA_S, OFFICES)
        self._quakes: SharedCache[list[Quake]] = SharedCache(DATA_S, 1)

    async def areas(self) -> Areas:
        """All areas.

        Raises:
            ToolError: one text per kind of failure.
        """
        return await self._areas.get("areas", self._read_areas)

    async def warnings(self, office: str) -> WarningReports:
        """The warnings of an office.

        Raises:
            ToolError: one text per kind of failure.
        """
        return await self._warnings.get(office, partial(self._read_warnings, office))

    async def quakes(self) -> list[Quake]:
        """The earthquakes of the last weeks, the newest first.

        Raises:
            ToolError: one text per kind of failure.
        """
        return await self._quakes.get("quakes", self._read_quakes)

    async def _read_areas(self) -> Areas:
        areas = await asyncio.to_thread(
            Areas, await self._source.get_json("/bosai/common/const/area.json")
        )
        if not areas:
            raise ToolError("no list of areas available")
        return areas

    async def _read_warnings(self, office: str) -> WarningReports:
        path = "/bosai/warning/data/r8/{}.json"
        try:
            return WarningReports(await self._source.get_json(path.format(office)))
        except StatusError as error:
            if error.status != NOT_FOUND or office not in SHARED_FILES:
                raise
        return WarningReports(await self._source.get_json(path.format(SHARED_FILES[office])))

    async def _read_quakes(self) -> list[Quake]:
        return await asyncio.to_thread(
            quakes.read, await self._source.get("/bosai/quake/data/list.json")
        )


class JmaTool(Tool):
    """What the tools that ask the Agency share."""

    public = True
    timeout_s = TIMEOUT_S
    foreign = True
    Config = JmaConfig

    def __init__(self, jma: JmaClient) -> None:
        self._jma = jma

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: JmaConfig) -> Self:
        """Use the service of ``config`` through ``http``."""
        return cls(JmaClient(http, config.jma_base_url))
