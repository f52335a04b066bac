"""Asks the doctor about real parts."""

from __future__ import annotations

from functools import partial
from typing import Any

from bot import app
from bot.checks import CheckResult
from bot.ops.doctor import Openers, run_checks
from bot.plugins import open_tools
from bot.providers.registry import open_model
from bot.settings import Settings


def openers(settings: Settings, **other: Any) -> Openers:
    """The real parts, but for others."""
    real: dict[str, Any] = {
        "store": lambda: app.open_store_of(settings),
        "tools": lambda: open_tools(settings),
        "model": partial(open_model, settings),
        "channels": app.checks_of_channels(settings),
    }
    return Openers(**real | other)


async def found(settings: Settings, name: str, **other: Any) -> CheckResult:
    """What the doctor says of one part."""
    findings = await run_checks(settings, openers(settings, **other))
    return next(finding for finding in findings if finding.name == name)
