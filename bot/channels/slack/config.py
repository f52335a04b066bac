"""What an operator sets for Slack, and the times that tests shorten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, model_validator

from bot.channels import Speak
from bot.errors import SettingsError
from bot.settings import NO_SECRET
from bot.settings.types import Names, Secret

# What each secret is, and where it is found.
SECRETS = {
    "SLACK_BOT_TOKEN": "the bot token begins with xoxb- (OAuth & Permissions)",
    "SLACK_APP_TOKEN": "the app token begins with xapp- (Basic Information, App-Level Tokens)",
    "SLACK_SIGNING_SECRET": "the signing secret is in Basic Information, App Credentials",
}
# What to do about a token that Slack refuses.
FIX_OF_BOT = (
    "copy it again at https://api.slack.com/apps (OAuth & Permissions, Bot User OAuth Token)"
)
FIX_OF_APP = (
    "make one with the scope connections:write at https://api.slack.com/apps (Basic Information, "
    "App-Level Tokens), and switch Socket Mode on"
)
TEAM = re.compile(r"T[A-Z0-9]{2,20}")
SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")


def _api_url(value: str) -> str:
    if not value.startswith(("http://", "https://")) or not value.endswith("/api/"):
        raise ValueError("write it as https://host/api/")
    return value


def _team_id(value: str) -> str:
    if not TEAM.fullmatch(value):
        raise ValueError("name each token by the id of its workspace, as T0123ABCD")
    return value


class Config(BaseModel):
    """What an operator sets for Slack; field names are the variables in lower case.

    Attributes:
        slack_signing_secret: empty: no webhook, events come by Socket Mode.
        slack_app_token: empty: no Socket Mode.
        slack_follow_threads: threads the bot takes part in go on without a mention.
        slack_feedback: answers have buttons for feedback.
        approvers: user ids of those who may decide besides the asker.
        allowed_users: user ids; empty for everybody.
        allowed_channels: channel ids; empty for all. A 1:1 is no channel.
    """

    slack_bot_token: Secret = NO_SECRET
    slack_signing_secret: Secret = NO_SECRET
    slack_app_token: Secret = NO_SECRET
    slack_api_base_url: Annotated[str, AfterValidator(_api_url)] = "https://slack.com/api/"
    slack_follow_threads: bool = True
    slack_feedback: bool = True
    approvers: Names = ()
    allowed_users: Names = ()
    allowed_channels: Names = ()

    @property
    def is_on(self) -> bool:
        """The bot token turns Slack on, with a signing secret (HTTP) or an app token (Socket
        Mode)."""
        return bool(self.slack_bot_token.get_secret_value())

    @property
    def speak(self) -> Speak:
        """Which messages call the bot, where no place says otherwise."""
        return "thread" if self.slack_follow_threads else "mention"

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Refuse a secret in the variable of another one, and some without the others."""
        for variable, description in SECRETS.items():
            value: str = getattr(self, variable.lower()).get_secret_value()
            owner = variable_of(value)
            if owner and owner != variable:
                raise SettingsError(variable, f"holds what belongs into {owner}; {description}")
            if value and not owner and variable != "SLACK_SIGNING_SECRET":
                raise SettingsError(variable, f"holds something else; {description}")
        ways_in = self.slack_signing_secret, self.slack_app_token
        has_way_in = any(secret.get_secret_value() for secret in ways_in)
        if self.is_on and not has_way_in:
            fix = "set it for events over HTTP, or SLACK_APP_TOKEN for Socket Mode"
            raise SettingsError("SLACK_SIGNING_SECRET", fix)
        if has_way_in and not self.is_on:
            fix = "Slack needs it beside the secrets that are set; set it, or none"
            raise SettingsError("SLACK_BOT_TOKEN", fix)
        return self

    def workspaces(self, account: str) -> Iterator[tuple[str, str, Config]]:
        """The team, the account and the settings of each workspace; of a single token the team is
        empty."""
        yield "", account, self

    def allows_user(self, user: str) -> bool:
        """Whether this person may use the bot."""
        return not self.allowed_users or user in self.allowed_users

    def allows(self, user: str, channel: str) -> bool:
        """Whether this person may use the bot there; the ids of 1:1 channels begin with D."""
        is_open = channel.startswith("D") or not self.allowed_channels
        return self.allows_user(user) and (is_open or channel in self.allowed_channels)

    def is_slack_url(self, url: str) -> bool:
        """Whether a URL belongs to Slack, so that it may receive the token or an answer."""
        try:
            parts, api = urlsplit(url), urlsplit(self.slack_api_base_url)
        except ValueError:
            return False
        if (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
            return True
        return parts.scheme == "https" and (parts.hostname or "").endswith(".slack.com")


class AppConfig(Config):
    """The same of an account, whose app may be in several workspaces.

    Attributes:
        slack_bot_tokens: by team id, in place of ``slack_bot_token``.
    """

    slack_bot_tokens: dict[Annotated[str, AfterValidator(_team_id)], Secret] = {}

    @property
    def is_on(self) -> bool:
        return bool(self.slack_bot_tokens) or super().is_on

    def workspaces(self, account: str) -> Iterator[tuple[str, str, Config]]:
        values = dict(self)
        tokens = values.pop("slack_bot_tokens")
        for team, token in tokens.items():
            yield team, f"{account}.{team}", Config(**values | {"slack_bot_token": token})
        if not tokens:
            yield from super().workspaces(account)

    @model_validator(mode="after")
    def _has_tokens_of_bots(self) -> Self:
        """Refuse another secret among the tokens, and a token beside them."""
        for token in self.slack_bot_tokens.values():
            if variable_of(token.get_secret_value()) != "SLACK_BOT_TOKEN":
                fix = f"one holds something else; {SECRETS['SLACK_BOT_TOKEN']}"
                raise SettingsError("SLACK_BOT_TOKENS", fix)
        if self.slack_bot_tokens and self.slack_bot_token.get_secret_value():
            raise SettingsError("SLACK_BOT_TOKEN", "leave it out beside slack_bot_tokens")
        return self


def variable_of(value: str) -> str:
    """The variable that a secret belongs into, by its form; empty where the form does not show
    it."""
    if value.startswith(("xoxb-", "xoxe.xoxb-")):
        return "SLACK_BOT_TOKEN"
    if value.startswith("xapp-"):
        return "SLACK_APP_TOKEN"
    return "SLACK_SIGNING_SECRET" if SIGNING_SECRET.fullmatch(value) else ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times and intervals, in seconds.

    Attributes:
        settle_s: how long Slack may take to show a message that was posted with an unknown outcome.
        lookup_timeout_s: for the lookups before a turn.
        pace_s: between two changes of a status, or of a stream.
        start_s: between the beginnings of two streams.
        card_s: a tool call that takes longer begins a stream that shows its card.
        status_after_s: a turn that takes longer gets a status; a faster answer saves two calls.
        stop_after_s: a turn that takes longer gets a stop button.
        ping_s: how often a Socket Mode connection is checked.
        ticket_s: how long the URL of a Socket Mode connection is valid.
    """

    settle_s: float = 1.0
    lookup_timeout_s: float = 5.0
    pace_s: float = 1.0
    start_s: float = 3.0
    card_s: float = 1.5
    status_after_s: float = 0.5
    stop_after_s: float = 3.0
    ping_s: float = 5.0
    ticket_s: float = 20.0
