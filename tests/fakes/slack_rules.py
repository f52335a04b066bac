"""What Slack's Web API refuses, in its own words, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.names import NAMES

JSON = dict[str, Any]

MARKDOWN_LIMIT = 12_000
TEXT_LIMIT = 40_000
# with escapes; not documented: https://gitlab.com/gitlab-org/gitlab/-/merge_requests/258898
UPDATED_TEXT_BYTES = 4_000

METHODS: dict[str, JSON] = NAMES["slack"]


class Refused(Exception):
    """An answer ``{"ok": false, "error": …}``."""

    def __init__(self, error: str, **details: str) -> None:
        super().__init__(error)
        self.answer: JSON = {"ok": False, "error": error, **details}


def check_method(method: str, arguments: Mapping[str, Any], scopes: Sequence[str]) -> None:
    """Refuse unknown methods and arguments, and what the token may not do."""
    if method not in METHODS:
        raise Refused("unknown_method")
    needed, known = METHODS[method]["scopes"], METHODS[method]["arguments"]
    if needed and not set(needed) & set(scopes):
        raise Refused("missing_scope", needed=needed[0], provided=",".join(scopes))
    if unknown := set(arguments).difference(known):
        raise Refused("invalid_arguments", unknown=",".join(sorted(unknown)))


def check_metadata(metadata: object) -> None:
    """A type and a payload, where there is any."""
    if metadata is not None and not (
        isinstance(metadata, dict)
        and metadata.keys() == {"event_type", "event_payload"}
        and isinstance(metadata["event_type"], str)
        and isinstance(metadata["event_payload"], dict)
    ):
        raise Refused("invalid_metadata_format")


def check_prompts(prompts: object) -> None:
    """One to four prompts, each with a title and a message."""
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= 4:
        raise Refused("invalid_arguments")
    if any(set(prompt) != {"title", "message"} or not all(prompt.values()) for prompt in prompts):
        raise Refused("invalid_arguments")


def page(
    messages: Sequence[JSON], arguments: Mapping[str, Any], *, newest_first: bool, parent: str = ""
) -> JSON:
    """A page of messages between ``oldest`` and ``latest``; a thread's parent is on its every first
    page."""
    oldest, latest = float(arguments.get("oldest") or 0), float(arguments.get("latest") or "inf")
    inclusive = str(arguments.get("inclusive", "0")) in ("1", "true", "True")
    found = [
        message
        for message in messages
        if message["ts"] == parent
        or oldest < float(message["ts"]) < latest
        or (inclusive and float(message["ts"]) in (oldest, latest))
    ]
    found.sort(key=lambda message: float(message["ts"]), reverse=newest_first)
    start, limit = int(arguments.get("cursor") or 0), min(int(arguments.get("limit") or 100), 999)
    keep_metadata = str(arguments.get("include_all_metadata", "0")) in ("1", "true", "True")
    shown = [
        {key: value for key, value in message.items() if keep_metadata or key != "metadata"}
        for message in found[start : start + limit]
    ]
    has_more = start + limit < len(found)
    answer: JSON = {"ok": True, "messages": shown, "has_more": has_more}
    if has_more:
        answer["response_metadata"] = {"next_cursor": str(start + limit)}
    return answer
