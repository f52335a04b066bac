"""Address and authorization: what differs between Gemini by a key and Gemini on Vertex AI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple


class Access(NamedTuple):
    """Where a model is, and who asks it.

    Attributes:
        base_url: without the version.
        resource: the model's path below the version.
        account: key, or project and credentials, as the SDK's client takes them.
        headers: those that authorize a request.
    """

    base_url: str
    api_version: str
    resource: str
    account: Mapping[str, Any]
    headers: Callable[[], Awaitable[Mapping[str, str]]]
