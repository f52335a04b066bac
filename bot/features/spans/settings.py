"""The settings of spans: variables that OpenTelemetry has for all programs."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from bot.checks import CheckResult, Result
from bot.settings import FeatureConfig, Settings
from bot.settings.types import ApiURL

Content = Literal["NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"]
# What older programs know: words, or none.
OLDER = {"": "NO_CONTENT", "FALSE": "NO_CONTENT", "TRUE": "SPAN_AND_EVENT"}
PROTOCOL = "http/protobuf"
HEADERS = re.compile(r"[\w.!#$%&'*+^`|~-]+=[!-~ ]*")


def _content(value: object) -> object:
    word = str(value).strip().upper()
    word = OLDER.get(word, word)
    if word not in get_args(Content):
        raise ValueError(f"write one of {', '.join(get_args(Content))}, or true")
    return word


def _protocol(value: str) -> str:
    if value not in ("", PROTOCOL):
        raise ValueError(f"leave it empty: Kaiwa sends {PROTOCOL} alone, as to port 4318")
    return value


def _headers(value: SecretStr) -> SecretStr:
    for pair in filter(None, map(str.strip, value.get_secret_value().split(","))):
        if not HEADERS.fullmatch(pair):
            raise ValueError("write name=value, comma-separated, as in Authorization=Bearer%20KEY")
    return value


class Config(FeatureConfig):
    """Fields are the variables in lower case; no endpoint: nothing is sent, and nothing loaded."""

    otel_exporter_otlp_endpoint: ApiURL | Literal[""] = ""
    otel_exporter_otlp_headers: Annotated[SecretStr, AfterValidator(_headers)] = SecretStr("")
    otel_exporter_otlp_protocol: Annotated[str, AfterValidator(_protocol)] = PROTOCOL
    otel_exporter_otlp_timeout: float = Field(default=10.0, gt=0, le=60)
    otel_service_name: str = Field(default="kaiwa", max_length=100)
    otel_sdk_disabled: bool = False
    otel_instrumentation_genai_capture_message_content: Annotated[
        Content, BeforeValidator(_content)
    ] = "NO_CONTENT"

    @property
    def sends(self) -> bool:
        """Whether turns go to a collector."""
        return bool(self.otel_exporter_otlp_endpoint) and not self.otel_sdk_disabled

    def describe(self, settings: Settings) -> list[CheckResult]:
        """Where turns go; a warning where words go with them."""
        if not self.sends:
            return []
        content = self.otel_instrumentation_genai_capture_message_content
        where = urlsplit(self.otel_exporter_otlp_endpoint).netloc
        result: Result = "ok"
        detail = f"{where} gets every turn, without words"
        if content != "NO_CONTENT":
            result = "warning"
            detail = f"{where} gets every turn, with people's words"
        fix = "unset OTEL_EXPORTER_OTLP_ENDPOINT to send nothing"
        return [CheckResult(result, "spans", detail, fix)]
