"""Slack's settings as the channel uses them, its timing, and the scopes the app needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# slack_manifest.yaml asks for the same; a test compares.
SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "chat:write",
    "commands",
    "files:read",
    "groups:history",
    "im:history",
    "mpim:history",
    "users:read",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times and intervals, in seconds.

    Attributes:
        settle_s: how long Slack may take to show a message whose fate is unknown.
        lookup_timeout_s: for what a turn would like to know before it begins.
        pace_s: between two changes of a status, or of a stream.
        start_s: between the beginnings of two streams.
        stop_after_s: of a turn, before it gets a button that stops it.
        again_s: before Slack is asked again who the bot is; ``refused_s`` where it has refused to tell.
        ping_s: how often a Socket Mode connection is checked.
        ticket_s: how long the address of a Socket Mode connection is good.
    """

    settle_s: float = 1.0
    lookup_timeout_s: float = 5.0
    pace_s: float = 1.0
    start_s: float = 3.0
    stop_after_s: float = 3.0
    again_s: float = 15.0
    refused_s: float = 300.0
    ping_s: float = 5.0
    ticket_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Options:
    """Slack's settings.

    Attributes:
        signing_secret: empty: no webhook, events come by Socket Mode.
        app_token: empty: no Socket Mode.
        api_base_url: ends in ``/api/``.
        language: of our own sentences where a message tells none.
        allowed_users: ids; empty means everybody.
        allowed_channels: ids; empty means every channel. A 1:1 is no channel.
        follow_threads: threads the bot takes part in go on without a mention.
    """

    signing_secret: str = field(repr=False)
    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    api_base_url: str = "https://slack.com/api/"
    language: str = "en"
    allowed_users: Collection[str] = ()
    allowed_channels: Collection[str] = ()
    follow_threads: bool = False
    timing: Timing = Timing()

    def is_slack_url(self, url: str) -> bool:
        """Whether a URL belongs to Slack, so that it may receive the token or an answer."""
        try:
            parts, api = urlsplit(url), urlsplit(self.api_base_url)
        except ValueError:
            return False
        if (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
            return True
        return parts.scheme == "https" and (parts.hostname or "").endswith(".slack.com")
