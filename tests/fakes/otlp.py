"""A stand-in for a collector of OpenTelemetry: takes OTLP over HTTP in protobuf, as
https://opentelemetry.io/docs/specs/otlp/#otlphttp describes it, and keeps what it was sent.

with otlp_fake() as fake:
    ...  # OTEL_EXPORTER_OTLP_ENDPOINT=fake.base_url
    fake.named("invoke_agent Kaiwa")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.fakes.serving import serving

PROTOBUF = "application/x-protobuf"


@dataclass
class TakenSpan:
    """A span as it came in.

    Attributes:
        parent: id of the span above; empty for the first one of a tree.
        links: trace and span of each.
        events: name and attributes of each.
    """

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    links: list[tuple[str, str]]
    events: list[tuple[str, dict[str, Any]]]
    attributes: dict[str, Any]
    is_error: bool

    def words(self, name: str) -> Any:
        """An attribute that is JSON."""
        return json.loads(self.attributes[name])


@dataclass
class OtlpFake:
    """The collector.

    Attributes:
        spans: in the order in which they came.
        logs: name and attributes of each event, with the id of its span.
        resources: attributes of each sender.
        headers: of each request.
        raw: the bytes of all requests.
        refusal: the status with which it answers, unless it is 0.
        stalls: it never answers.
        asked: the number of requests, refused ones included.
    """

    base_url: str = ""
    spans: list[TakenSpan] = field(default_factory=list)
    logs: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: bytes = b""
    refusal: int = 0
    stalls: bool = False
    asked: int = 0

    def named(self, name: str) -> list[TakenSpan]:
        """The spans of a name."""
        return [span for span in self.spans if span.name == name]

    async def take(self, request: web.Request) -> web.Response:
        """Take spans or events."""
        self.asked += 1
        if self.stalls:
            await asyncio.Event().wait()
        if self.refusal:
            return web.Response(status=self.refusal)
        assert request.content_type == PROTOBUF
        body = await request.read()
        self.raw += body
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        else:
            self._take_logs(ExportLogsServiceRequest.FromString(body))
        return web.Response(body=b"", content_type=PROTOBUF)

    def _take_spans(self, sent: ExportTraceServiceRequest) -> None:
        for of_resource in sent.resource_spans:
            self.resources.append(_attributes(of_resource.resource.attributes))
            for of_scope in of_resource.scope_spans:
                self.spans += map(_taken, of_scope.spans)

    def _take_logs(self, sent: ExportLogsServiceRequest) -> None:
        for of_resource in sent.resource_logs:
            for of_scope in of_resource.scope_logs:
                for record in of_scope.log_records:
                    told = _attributes(record.attributes)
                    self.logs.append((record.event_name, told, record.span_id.hex()))


def _taken(span: Sent) -> TakenSpan:
    return TakenSpan(
        span.name,
        Sent.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        [(event.name, _attributes(event.attributes)) for event in span.events],
        _attributes(span.attributes),
        span.status.code == Status.STATUS_CODE_ERROR,
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


@contextmanager
def otlp_fake() -> Iterator[OtlpFake]:
    """The collector, on this machine."""
    fake, application = OtlpFake(), web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_post("/v1/traces", fake.take)
    application.router.add_post("/v1/logs", fake.take)
    with serving(application) as fake.base_url:
        yield fake
