"""The log: JSON lines, or readable ones on a terminal, with conversation and turn; without secrets
and messages.

Our own events skip most of the standard library's logging, which took half the time of a line. Both
kinds of lines come to one handler and look alike.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from traceback import extract_tb
from typing import Any

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

MOST_FRAMES = 40  # the innermost
SHORTEST = 5  # characters; a shorter secret is not removed, as it occurs in ordinary words
# The SDK of MCP quotes what servers say, and toolset.mcp tells what matters; that of OpenTelemetry
# repeats itself, and who uses it tells once that it fails.
SILENT = ("client", "mcp", "opentelemetry")
WARNING_ONLY = (
    "aiohttp",
    "anthropic",
    "asyncio",
    "google_genai",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "mcp",
    "openai",
    "redis",
    "uvicorn",
)

_hidden: list[str] = []  # the log is the process's own, and so is what it must not contain


def configure(
    level: str,
    secrets: Iterable[str],
    *,
    terminal: bool | None = None,
    file: Path | None = None,
    messages: bool = False,
) -> None:
    """Log everything in this process through one formatter to stderr.

    Args:
        secrets: values that are replaced wherever they occur.
        terminal: readable (True) or JSON lines (False); None: readable if stderr is a terminal.
        file: gets JSON lines instead of stderr; rotated at a megabyte.
        messages: keep those of exceptions, for somebody who has caused them.

    Raises:
        OSError: the file cannot be written.
    """
    _hidden.clear()
    hide(secrets)
    readable = file is None and (sys.stderr.isatty() if terminal is None else terminal)
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        handler = RotatingFileHandler(file, maxBytes=1_000_000, backupCount=1, encoding="utf-8")
    handler.setFormatter(_Formatter(shared, [*_renderers(readable, messages), _remove_secrets]))
    structlog.configure(
        processors=shared,
        logger_factory=_ModuleLogger,
        wrapper_class=structlog.make_filtering_bound_logger(
            level
        ),  # with the methods that our modules use
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name in WARNING_ONLY:  # their INFO lines may hold URLs and bodies
        logging.getLogger(name).setLevel(logging.WARNING)


class _Event(logging.LogRecord):
    """An event of ours on its way to the handler; its level has been looked at."""

    def __init__(self, name: str, event: EventDict) -> None:
        super().__init__(name, logging.CRITICAL, "", 0, "", args=(), exc_info=None)
        self.msg: Any = event


class _ModuleLogger:
    """Hands the events of one module to the handler of the moment; modules keep their loggers when
    it changes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, /, **event: Any) -> None:
        logging.getLogger().handle(_Event(self.name, event))

    debug = info = warning = error = critical = write


class _Formatter(structlog.stdlib.ProcessorFormatter):
    """Makes a line of an event of ours, or of a record of others.

    Args:
        shared: has been done to events of ours.
        finish: from an event to a line.
    """

    def __init__(self, shared: list[Processor], finish: list[Processor]) -> None:
        super().__init__(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finish],
        )
        self._finish = finish

    def format(self, record: logging.LogRecord) -> str:
        if not isinstance(record, _Event):
            return super().format(record)
        line = record.msg
        for processor in self._finish:
            line = processor(None, "", line)
        return str(line)


def _renderers(readable: bool, messages: bool) -> list[Processor]:
    last: Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if readable:
        # Exceptions are already formatted; plain_traceback is the formatter that accepts that.
        last = structlog.dev.ConsoleRenderer(
            colors=True, exception_formatter=structlog.dev.plain_traceback
        )
    if messages:
        return [structlog.processors.format_exc_info, last]
    return [_hide_messages, structlog.processors.ExceptionRenderer(_traceback), last]


def _hide_messages(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove an exception's message, which asyncio writes into the event itself."""
    error = event.get("exc_info")
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException) and str(error):
        words = str(event["event"]).replace(repr(error), type(error).__name__)
        event["event"] = words.replace(str(error), "…")
    return event


def _traceback(exc_info: ExcInfo) -> str:
    """The types and places of a traceback, without messages, values and notes, which may quote
    people."""
    return "\n".join(_frames(exc_info[1], set()))


def _frames(error: BaseException, seen: set[int]) -> Iterator[str]:
    """Causes first. An exception taken out of a group has that group as its cause."""
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
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    yield f"{module}{kind.__qualname__}{number}"


def hide(secrets: Iterable[str]) -> None:
    """Replace these values too wherever they occur, until the log is configured anew."""
    long = [secret for secret in secrets if len(secret) >= SHORTEST]
    # JSON escapes quotes and backslashes in a secret.
    _hidden.extend(
        {form for secret in long for form in (secret, json.dumps(secret, ensure_ascii=False)[1:-1])}
    )


def without_secrets(text: str) -> str:
    """The text with a mark in place of each secret."""
    for secret in _hidden:
        if secret in text:
            text = text.replace(secret, "[secret]")
    return text


def bytes_without_secrets(data: bytes) -> bytes:
    """The same for bytes of UTF-8."""
    for secret in _hidden:
        if (found := secret.encode()) in data:
            data = data.replace(found, b"[secret]")
    return data


def _remove_secrets(_logger: WrappedLogger, _method: str, line: str | EventDict) -> str | EventDict:
    return without_secrets(line) if isinstance(line, str) else line
