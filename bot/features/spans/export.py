"""What OpenTelemetry needs to send spans and events: built here for Kaiwa alone. Nothing of it is
global, so that no SDK of a vendor finds it and sends on whose turn a request belongs to."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from uuid import uuid4

import structlog
from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import (
    BatchLogRecordProcessor,
    LogRecordExporter,
    LogRecordExportResult,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.re import parse_env_headers
from opentelemetry.util.types import Attributes

from bot.features.spans.settings import Config

# The last release in which the conventions for generative AI are part of the general ones.
SCHEMA = "https://opentelemetry.io/schemas/1.41.1"
# What is not sent by then, as the process ends, is lost.
CLOSE_S = 3.0
TURN_ID = re.compile(r"turn_([0-9a-f]{32})")
SAMPLED = TraceFlags(TraceFlags.SAMPLED)

log = structlog.stdlib.get_logger(__name__)


class TurnIds(RandomIdGenerator):
    """Ids of spans; those of a turn's first span come of the turn's id, so that every process knows
    them.

    Attributes:
        trace_id, span_id: of the next span; 0: a random one.
    """

    def __init__(self) -> None:
        self.trace_id = self.span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id or super().generate_trace_id()

    def generate_span_id(self) -> int:
        return self.span_id or super().generate_span_id()


class Health:
    """Logs once that the collector takes nothing, and once that it does again.

    Args:
        signal: what OpenTelemetry calls that which is sent.
    """

    def __init__(self, signal: str) -> None:
        self._signal = signal
        self._is_away = False

    def note(self, *, taken: bool) -> None:
        """Note what has become of a request."""
        if not taken and not self._is_away:
            log.warning("spans.not_sent", signal=self._signal)
        if taken and self._is_away:
            log.info("spans.sent_again", signal=self._signal)
        self._is_away = not taken


class SpansOut(SpanExporter):
    """Sends spans, in the SDK's thread."""

    def __init__(self, exporter: OTLPSpanExporter) -> None:
        self._exporter, self._health = exporter, Health("traces")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        self._health.note(taken=result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # as the SDK has it

    def abort(self) -> None:
        """Send nothing more: the process ends."""
        self._health.note(taken=False)
        self.shutdown()


class EventsOut(LogRecordExporter):
    """Sends events, which OpenTelemetry has as records of a log."""

    def __init__(self, exporter: OTLPLogExporter) -> None:
        self._exporter, self._health = exporter, Health("logs")

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        result = self._exporter.export(batch)
        self._health.note(taken=result is LogRecordExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # as the SDK has it

    def force_flush(self, timeout_millis: int = 10_000) -> bool:
        return True

    def abort(self) -> None:
        """As ``SpansOut.abort``."""
        self._health.note(taken=False)
        self.shutdown()


class Export:
    """Makes spans and events, and sends them.

    Attributes:
        in_spans, in_events: words are part of them.
        version: of Kaiwa.
    """

    def __init__(self, config: Config) -> None:
        content = config.otel_instrumentation_genai_capture_message_content
        self.in_spans = content in ("SPAN_ONLY", "SPAN_AND_EVENT")
        self.in_events = content in ("EVENT_ONLY", "SPAN_AND_EVENT")
        base, timeout_s = config.otel_exporter_otlp_endpoint, config.otel_exporter_otlp_timeout
        headers = parse_env_headers(
            config.otel_exporter_otlp_headers.get_secret_value(), liberal=True
        )
        self.version = version("kaiwa")
        described = {
            "service.name": config.otel_service_name,
            "service.version": self.version,
            "service.instance.id": str(uuid4()),
        }
        resource = Resource.create(described, SCHEMA)
        self._ids = TurnIds()
        spans = SpansOut(OTLPSpanExporter(f"{base}/v1/traces", headers=headers, timeout=timeout_s))
        traces = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(spans))
        self._tracer = traces.get_tracer("kaiwa", self.version, schema_url=SCHEMA)
        self._ends: list[Callable[[], None]] = [traces.shutdown]
        self._aborts: list[Callable[[], None]] = [spans.abort]
        self._logger: Logger | None = None
        if self.in_events:
            events = EventsOut(
                OTLPLogExporter(f"{base}/v1/logs", headers=headers, timeout=timeout_s)
            )
            logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
            logs.add_log_record_processor(BatchLogRecordProcessor(events))
            self._logger = logs.get_logger("kaiwa", self.version, schema_url=SCHEMA)
            self._ends.append(logs.shutdown)
            self._aborts.append(events.abort)

    def start(
        self,
        name: str,
        kind: SpanKind,
        attributes: Attributes,
        *,
        parent: Span | None = None,
        ids: SpanContext | None = None,
        is_linked: bool = False,
        started_ns: int | None = None,
    ) -> Span:
        """Start a span.

        Args:
            parent: None: it is the first of a tree.
            ids: of the first span of a trace: this one, or where it is linked another one.
            started_ns: since the epoch; None: now.
        """
        links = [Link(ids)] if ids and is_linked else []
        if ids is not None:
            self._ids.trace_id = ids.trace_id
            self._ids.span_id = 0 if is_linked else ids.span_id
        context = set_span_in_context(parent, Context()) if parent else Context()
        try:
            return self._tracer.start_span(name, context, kind, attributes, links, started_ns)
        finally:
            self._ids.trace_id = self._ids.span_id = 0

    def event(self, name: str, attributes: Attributes, span: Span) -> None:
        """Send an event that belongs to a span."""
        if self._logger is not None:
            record = LogRecord(
                timestamp=time.time_ns(),
                context=set_span_in_context(span, Context()),
                severity_number=SeverityNumber.INFO,
                attributes=attributes,
                event_name=name,
            )
            self._logger.emit(record)

    async def aclose(self) -> None:
        """Send what is left, for as long as that may take."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def end() -> None:
            for close in self._ends:
                close()
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        # Not one of the loop's own threads: the process would wait for those as it ends.
        threading.Thread(target=end, daemon=True).start()
        try:
            async with asyncio.timeout(CLOSE_S):
                await ended.wait()
        except TimeoutError:
            for abort in self._aborts:
                abort()


def first_span(turn_id: str) -> SpanContext:
    """The ids of a turn's first span. The trace has the digits of the turn's id, so that it is
    found by what the log calls the turn."""
    digest = sha256(turn_id.encode()).hexdigest()
    named = TURN_ID.fullmatch(turn_id)
    trace_id = int(named[1] if named else digest[:32], 16)
    return SpanContext(trace_id, int(digest[-16:], 16), is_remote=True, trace_flags=SAMPLED)
