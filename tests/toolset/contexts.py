"""What tools are called with in tests: a context, an HTTP client, and the settings of the
weather."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpx

from tests.fakes.wttr import WttrFake
from tests.project import NOWHERE
from toolset.stores import Uses
from toolset.tool import ToolContext, ValidatedTool
from toolset.weather import WeatherConfig


class UsesInMemory(Uses):
    """The uses of one person (``toolset.stores.Uses``)."""

    def __init__(self) -> None:
        self.taken: dict[str, set[str]] = {}

    def find(self, kind: type[Any]) -> Any:
        """Itself, for ``ToolContext.store``."""
        return self

    async def take(self, tool: str, limit: int, idempotency_key: str) -> bool:
        taken = self.taken.setdefault(tool, set())
        taken |= {idempotency_key} if len(taken) < limit else set()
        return idempotency_key in taken


def context(
    locale: str = "en",
    time_zone: str = "Asia/Tokyo",
    seconds: float = 30,
) -> ToolContext:
    """A call that may take so many seconds."""
    return ToolContext(
        call_id="call_1",
        batch_id="batch_1",
        call_index=0,
        conversation="console:test",
        user="somebody",
        locale=locale,
        time_zone=time_zone,
        idempotency_key="key_1",
        deadline=time.monotonic() + seconds,
    )


async def response_of(
    tool: ValidatedTool, locale: str = "en", /, **arguments: Any
) -> dict[str, Any]:
    """The response to a call; an error fails the test."""
    outcome = await tool.call(arguments, context(locale=locale))
    assert not outcome.is_error, outcome.response
    return outcome.response


async def error_of(tool: ValidatedTool, locale: str = "en", /, **arguments: Any) -> str:
    """The text of an error."""
    outcome = await tool.call(arguments, context(locale=locale))
    assert outcome.is_error, outcome.response
    return str(outcome.response["error"])


def http_client() -> httpx.AsyncClient:
    """A client that trusts no certificate: reading the system's takes longer than most tests."""
    return httpx.AsyncClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def only_wttr(wttr: WttrFake, timeout_s: float = 3) -> WeatherConfig:
    """A weather tool's settings in which the second service cannot be reached."""
    return WeatherConfig(
        wttr_base_url=wttr.base_url,
        open_meteo_base_url=NOWHERE,
        open_meteo_geocoding_base_url=NOWHERE,
        weather_timeout_s=timeout_s,
    )
