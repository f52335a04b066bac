"""The cached contents of Gemini's stand-in: refuses what the real service refuses, and forgets what
has expired."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import msgspec

from tests.fakes import gemini_rules
from tests.fakes.gemini_rules import JSON, Refused

UPDATED = {"ttl", "expireTime"}
DURATION = re.compile(r"(\d+(?:\.\d{1,9})?)s")
HOUR = 3600.0
BYTES_PER_TOKEN = 4  # of JSON; the real service has a tokenizer
MISMATCH = "Model used by GenerateContent request ({}) and CachedContent ({}) has to be the same."


@dataclass
class Content:
    """What is kept.

    Attributes:
        prefix: the fields a request must not repeat.
        seconds: how long it was last told to live.
        expires_at: on the monotonic clock.
    """

    name: str
    model: str
    prefix: JSON
    tokens: int
    seconds: float = 0.0
    expires_at: float = 0.0


class CachedContents:
    """The service's ``cachedContents``.

    Args:
        parent: what its names begin with.
        models: what the names of models begin with.
        missing: the status that says a content is not there.

    Attributes:
        stored: the contents by name; a test may take one away.
        log: what was asked for so far, such as ``POST`` or ``PATCH cachedContents/1``.
        refusal: status and text for whatever is to be made or kept for longer.
        gate: nothing is answered before it is set.
    """

    def __init__(self, parent: str = "", models: str = "models/", missing: int = 403) -> None:
        self.stored: dict[str, Content] = {}
        self.log: list[str] = []
        self.refusal: tuple[int, str] | None = None
        self.gate: Event | None = None
        self._parent = parent
        self._models = models
        self._missing = missing
        self._made = 0

    def serve(self, method: str, key: str, raw: bytes, models: set[str]) -> JSON:
        """Answer one request; ``key`` is the last part of a content's name.

        Raises:
            Refused: with the service's text.
        """
        name = f"{self._parent}cachedContents/{key}" if key else ""
        self.log.append(f"{method} {name}".strip())
        if self.refusal:
            status, text = self.refusal
            raise Refused(text, status)
        match method, bool(key):
            case "POST", False:
                return self._create(gemini_rules.known(raw, "cached_content"), models)
            case "PATCH", True:
                return self._update(name, gemini_rules.known(raw, "expiration"))
        raise Refused("The requested URL was not found on this server.", 404)

    def used(self, model: str, body: Mapping[str, Any]) -> int:
        """The tokens a request takes from its cached content, 0 where it names none.

        Raises:
            Refused: the content is not there, or another model's.
        """
        name = body.get("cachedContent")
        if name is None:
            return 0
        content = self._find(name)
        if content.model != self._models + model:
            raise Refused(MISMATCH.format(self._models + model, content.model))
        return content.tokens

    def _create(self, body: JSON, models: set[str]) -> JSON:
        model = str(body.pop("model", ""))
        if not model.startswith(self._models):
            raise Refused("* CreateCachedContentRequest.model: unexpected model name format\n")
        if model.removeprefix(self._models) not in models:
            raise Refused(
                f"{model} is not found, or is not supported for createCachedContent.", 404
            )
        prefix = {
            name: value for name, value in body.items() if name not in {*UPDATED, "displayName"}
        }
        gemini_rules.check_prefix(prefix)
        gemini_rules.check_combination(model, prefix)
        gemini_rules.check_specification(prefix, [])
        tokens, least = len(msgspec.json.encode(prefix)) // BYTES_PER_TOKEN, least_tokens(model)
        if tokens < least:
            raise Refused(
                f"Cached content is too small. total_token_count={tokens}, "
                f"min_total_token_count={least}"
            )
        seconds = _seconds(body) or HOUR
        self._made += 1
        content = Content(f"{self._parent}cachedContents/{self._made}", model, prefix, tokens)
        self.stored[content.name] = content
        return _living(content, seconds)

    def _update(self, name: str, body: JSON) -> JSON:
        content, seconds = self._find(name), _seconds(body)
        if seconds is None:
            raise Refused("Only expiration can be updated.")
        return _living(content, seconds)

    def _find(self, name: str) -> Content:
        content = self.stored.get(name)
        if content is None or content.expires_at <= time.monotonic():
            raise Refused("CachedContent not found (or permission denied)", self._missing)
        return content


def counted(events: Sequence[JSON], tokens: int) -> tuple[JSON, ...]:
    """Events whose usage counts cached tokens too, where there are any."""
    if not tokens:
        return tuple(events)
    return tuple(
        {**event, "usageMetadata": _more(event["usageMetadata"], tokens)}
        if "usageMetadata" in event
        else event
        for event in events
    )


def _more(usage: JSON, tokens: int) -> JSON:
    sums = {name: usage[name] + tokens for name in ("promptTokenCount", "totalTokenCount")}
    return {**usage, **sums, "cachedContentTokenCount": tokens}


def least_tokens(model: str) -> int:
    """The smallest content of a model: https://ai.google.dev/gemini-api/docs/caching."""
    return 2048 if gemini_rules.generation(model) < 3 else 4096


def _seconds(body: JSON) -> float | None:
    if body.keys() >= UPDATED:
        raise Refused(
            "Invalid value (oneof), oneof field 'expiration' is already set. Cannot set 'ttl'"
        )
    if "expireTime" in body:
        return datetime.fromisoformat(body["expireTime"]).timestamp() - time.time()
    if "ttl" not in body:
        return None
    duration = DURATION.fullmatch(str(body["ttl"]))
    if duration is None:
        raise Refused(
            "Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration)"
        )
    return float(duration[1])


def _living(content: Content, seconds: float) -> JSON:
    content.seconds, content.expires_at = seconds, time.monotonic() + seconds
    now = datetime.now(UTC)
    return {
        "name": content.name,
        "model": content.model,
        "createTime": now.isoformat(),
        "updateTime": now.isoformat(),
        "expireTime": (now + timedelta(seconds=seconds)).isoformat(),
        "usageMetadata": {"totalTokenCount": content.tokens},
    }
