"""What works here and what does not, each with its mend. No check raises, and none takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

import httpx

from bot.by_hand import call_by_hand
from bot.errors import ModelError, SettingsError, StoreUnavailable
from bot.providers import Provider
from bot.report import Part, parts
from bot.settings import Settings
from bot.store import Depths, ServerFacts, Store
from toolset.tool import ToolMap

CHECK_S = 15.0
PORT_S = 3.0
BIG_CITY = "Tokyo"
OLDEST_REDIS = 7

State = Literal["ok", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``mend`` says what to do, or what could be changed."""

    state: State
    name: str
    detail: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Openers:
    """How the parts under examination are opened."""

    store: Callable[[], AbstractAsyncContextManager[Store]]
    tools: Callable[[], AbstractAsyncContextManager[ToolMap]]
    provider: Callable[[], AbstractAsyncContextManager[Provider]]


async def examine(settings: Settings, openers: Openers) -> list[Finding]:
    """Everything, side by side; the findings come in a fixed order."""
    checks = [
        _limited("model", _model(settings, openers), "is its address reachable from here?"),
        _limited("store", _store(settings, openers), "REDIS_URL: is the address right, and Redis up?"),
        _limited("tools", _tools(settings, openers), "see the tools' variables in .env.example"),
        _limited("port", _port(settings), "choose another PORT"),
    ]
    found = await asyncio.gather(*checks)
    ...
