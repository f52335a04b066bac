"""Contexts in which tools are called."""

from __future__ import annotations

import time

from toolset.tool import ToolContext


def context(locale: str = "en", time_zone: str = "Asia/Tokyo", seconds: float = 30) -> ToolContext:
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
