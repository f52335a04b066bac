"""Where Slack takes streams just now, and how soon the next."""

from __future__ import annotations

import time

import structlog

from bot.channels.slack.api import Answer
from bot.channels.slack.refusal import TOKEN_ERRORS
from bot.channels.slack.types import Address

log = structlog.stdlib.get_logger(__name__)

REFUSED_S = 1_800.0
# What is refused like this is refused in the whole workspace, anything else in one channel.
WORKSPACE_ERRORS = (
    *("unknown_method", "method_deprecated", "feature_disabled", "feature_not_enabled", "not_agent_app"),
    *("missing_scope", "not_allowed_token_type", "no_permission", "ekm_access_denied", *TOKEN_ERRORS),
)


class StreamRoom:
    """Remembers refusals for a while.

    Args:
        start_s: between two streams of a workspace. Slack takes 20 a minute, and as many ends: an answer whose stream
            waits for its end is later than one that is posted whole.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._closed: dict[str, float] = {}

    def take(self, address: Address) -> bool:
        """Whether a stream may be begun now; the next one a little later."""
        now = time.monotonic()
        self._closed = {place: until for place, until in self._closed.items() if until > now}
        if address.team in self._closed or address.channel in self._closed:
            return False
        self.close(address.team, self._start_s)
        return True

    def close(self, place: str, seconds: float) -> None:
        """Take no streams in a workspace or a channel for so long."""
        self._closed[place] = time.monotonic() + seconds

    def refused(self, address: Address, answer: Answer) -> None:
        """Slack has refused to begin a stream."""
        log.info("slack.stream_unavailable", cause=answer.error, channel=address.channel)
        everywhere = answer.retry_after > 0 or answer.error in WORKSPACE_ERRORS
        self.close(address.team if everywhere else address.channel, answer.retry_after or REFUSED_S)
