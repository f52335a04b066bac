"""A vendor's own tools after a refusal."""

from __future__ import annotations

from structlog.testing import capture_logs

from bot.providers.shared.request import PAUSE_S, ServerTools


def test_the_tools_come_back_after_an_hour() -> None:
    """A second refusal at the same time is logged once."""
    now = [0.0]
    tools = ServerTools(("google_search",), "gemini-3.5-flash", clock=lambda: now[0])
    with capture_logs() as logs:
        assert tools.pause("400") == tools.pause("400") == "gemini-3.5-flash, google_search: 400"
    assert len(logs) == 1
    now[0] = PAUSE_S - 1
    assert tools.offered() == ()
    now[0] = PAUSE_S
    assert tools.offered() == ("google_search",)
