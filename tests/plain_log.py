"""How log lines are written in tests, where nothing else is asked for."""

from __future__ import annotations

import structlog


def use_plain_log() -> None:
    """Write tracebacks plainly: structlog draws them with all their variables, which takes a second
    each."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.set_exc_info,
            structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    )
