"""The log: JSON lines, or readable ones on a terminal, with conversation and turn; never secrets or messages."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from traceback import extract_tb

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

MOST_FRAMES = 40  # the innermost
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
    _quieten(QUIET)


def _renderers(readable: bool) -> list[Processor]:
    last: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if readable:
        # Exceptions are formatted before it; named is only the formatter that does not mind.
        last = structlog.dev.ConsoleRenderer(colors=True, exception_formatter=structlog.dev.plain_traceback)
    return [_hide_messages, structlog.processors.ExceptionRenderer(_traceback), last]


def _hide_messages(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """asyncio writes an exception's message into the line itself."""
    found = event.get("exc_info")
    error = found[1] if isinstance(found, tuple) else found if isinstance(found, BaseException) else None
    if error is not None and str(error):
        event["event"] = str(event["event"]).replace(repr(error), type(error).__name__).replace(str(error), "…")
    return event


def _traceback(exc_info: ExcInfo) -> str:
    """What was raised and where, without messages, values and notes: they may quote what somebody wrote."""
    return "\n".join(_frames(exc_info[1], set()))


def _frames(error: BaseException, seen: set[int]) -> Iterator[str]:
    """What it came of first. An exception taken out of a group has that group for its cause."""
    seen.add(id(error))
    before = [error.__cause__ or (None if error.__suppress_context__ else error.__context__)]
    for other in [*before, *(error.exceptions if isinstance(error, BaseExceptionGroup) else ())]:
        if other is not None and id(other) not in seen:
            yield from _frames(other, seen)
            yield ""
    for frame in extract_tb(error.__traceback__, -MOST_FRAMES):
        yield f"{frame.filename}:{frame.lineno} in {frame.name}"
    kind = type(error)
    number = f" (errno {error.errno})" if isinstance(error, OSError) and error.errno else ""
    yield f"{kind.__qualname__ if kind.__module__ == 'builtins' else f'{kind.__module__}.{kind.__qualname__}'}{number}"


def _handler(file: Path | None) -> logging.Handler:
    if file is None:
        return logging.StreamHandler(sys.stderr)
    return RotatingFileHandler(file, maxBytes=1_000_000, backupCount=1, encoding="utf-8")


def _quieten(names: Sequence[str]) -> None:
    """Libraries log from WARNING on: their INFO lines may hold URLs and bodies."""
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
