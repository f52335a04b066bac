"""Logs: JSON off a terminal, readable on one; conversation and turn on every line; secrets never."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SHORTEST = 5  # characters of a secret that is struck out: a shorter one stands in every other word
QUIET = (
    "aiohttp",
    "anthropic",
    "asyncio",
    "docket",
    "google_genai",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "openai",
    "redis",
    "uvicorn",
)


def configure(level: str, secrets: Iterable[str], *, terminal: bool | None = None, file: Path | None = None) -> None:
    """Send everything logged in this process through one formatter to stderr.

    Args:
        secrets: values that are struck out wherever they turn up.
        terminal: readable (True) or JSON lines (False); None asks stderr.
        file: takes JSON lines in place of stderr, and is begun anew when it has grown to a megabyte.

    Raises:
        OSError: the file cannot be written.
    """
    readable = file is None and (sys.stderr.isatty() if terminal is None else terminal)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *_renderers(readable),
            _strike_out(secrets),
        ],
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = _handler(file)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    _hush(QUIET)


def _renderers(readable: bool) -> list[Processor]:
    if readable:
        # Not the default formatter: that one is Rich's and prints local variables, users' words among them.
        return [structlog.dev.ConsoleRenderer(colors=True, exception_formatter=structlog.dev.plain_traceback)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]


def _handler(file: Path | None) -> logging.Handler:
    if file is None:
        return logging.StreamHandler(sys.stderr)
    return RotatingFileHandler(file, maxBytes=1_000_000, backupCount=1, encoding="utf-8")


def _hush(names: Sequence[str]) -> None:
    """Libraries speak at WARNING: their INFO lines may hold URLs and bodies."""
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)


def _strike_out(secrets: Iterable[str]) -> Processor:
    # In a JSON line a secret with quotes or backslashes stands in another form.
    long = [secret for secret in secrets if len(secret) >= SHORTEST]
    known = {form for secret in long for form in (secret, json.dumps(secret, ensure_ascii=False)[1:-1])}

    def strike(_logger: WrappedLogger, _method: str, line: str | EventDict) -> str | EventDict:
        for secret in known:
            if isinstance(line, str) and secret in line:
                line = line.replace(secret, "[secret]")
        return line

    return strike
