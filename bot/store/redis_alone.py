"""Loads redis-py without OpenTelemetry. It looks for that as it is loaded, for metrics that it is
never asked for here, which takes a tenth of a second and 3 MB."""

from __future__ import annotations

import sys

OPTIONAL = "opentelemetry"

if OPTIONAL not in sys.modules:
    # So an import of it fails.
    sys.modules[OPTIONAL] = None  # type: ignore[assignment]
    try:
        import redis.asyncio  # noqa: F401
    finally:
        del sys.modules[OPTIONAL]
