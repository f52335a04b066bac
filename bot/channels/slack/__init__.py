"""Slack: mentions answered in their threads, 1:1 conversations, slash commands; by webhook or
Socket Mode.

    channel     the Protocol's class        types      Slack's data as structs
    inbound     the webhook endpoint        events     from an event to what stands in the inbox
    client      the API, and Slack's SDK    lookups    people, earlier messages, the bot's own ids
    formatting  escapes and mentions        files      the files people send
    waiting_cards  those for one person     delivery   how a reply leaves
    presence    status line, stop button    doctor     for kaiwa doctor

    transport   Bolt, and Socket Mode       messages   one message, posted once
    streaming   an answer as it is written  assistant  the pane for agents
    live_answer what is to be shown of it   stream_writer  one stream
    answers     post, or finish the stream  task_cards tool calls of a stream
    answer_blocks  what an answer holds     blocks     Block Kit's objects
    cards       cards                       buttons    their blocks and presses
    uploads     files of answers            tasks      background tasks
    home        the home tab                forms      cards with many rows
    shortcuts   menu of a message           groups     handles of user groups

This module is light: what it opens is imported then. Its docs: https://docs.slack.dev/
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, SecretStr, model_validator

from bot.channels import Channel, Host, Recipient
from bot.checks import CheckResult
from bot.errors import SettingsError
from bot.settings import Names, Secret

NO_SECRET = SecretStr("")

RECIPIENT = Recipient(r"[CDGUW][A-Z0-9]{2,}", "slack:C… (a channel's or person's id)")

# What each secret is, and where it is found.
SECRETS = {
    "SLACK_BOT_TOKEN": "the bot token begins with xoxb- (OAuth & Permissions)",
    "SLACK_APP_TOKEN": "the app token begins with xapp- (Basic Information, App-Level Tokens)",
    "SLACK_SIGNING_SECRET": "the signing secret is in Basic Information, App Credentials",
}
SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")


def _api_url(value: str) -> str:
    if not value.startswith(("http://", "https://")) or not value.endswith("/api/"):
        raise ValueError("write it as https://host/api/")
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
    slack_follow_threads: bool = False
    slack_feedback: bool = True
    approvers: Names = ()
    allowed_users: Names = ()
    allowed_channels: Names = ()

    @property
    def is_on(self) -> bool:
        """The bot token turns Slack on, with a signing secret (HTTP) or an app token (Socket
        Mode)."""
        return bool(self.slack_bot_token.get_secret_value())

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Refuse a secret in the variable of another one, and some without the others."""
        for variable, description in SECRETS.items():
            value: str = getattr(self, variable.lower()).get_secret_value()
            owner = _variable_of(value)
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

    def allows_user(self, user: str) -> bool:
        """Whether this person may use the bot."""
        return not self.allowed_users or user in self.allowed_users

    def allows_channel(self, channel: str) -> bool:
        """Whether the bot answers in this channel."""
        return not self.allowed_channels or channel in self.allowed_channels

    def allows(self, user: str, channel: str) -> bool:
        """Whether this person may use the bot there; the ids of 1:1 channels begin with D."""
        return self.allows_user(user) and (channel.startswith("D") or self.allows_channel(channel))

    def is_slack_url(self, url: str) -> bool:
        """Whether a URL belongs to Slack, so that it may receive the token or an answer."""
        try:
            parts, api = urlsplit(url), urlsplit(self.slack_api_base_url)
        except ValueError:
            return False
        if (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
            return True
        return parts.scheme == "https" and (parts.hostname or "").endswith(".slack.com")


def _variable_of(value: str) -> str:
    """The variable that a secret belongs into, by its form; empty where the form does not show
    it."""
    if value.startswith(("xoxb-", "xoxe.xoxb-")):
        return "SLACK_BOT_TOKEN"
    if value.startswith("xapp-"):
        return "SLACK_APP_TOKEN"
    return "SLACK_SIGNING_SECRET" if SIGNING_SECRET.fullmatch(value) else ""


def describe(config: Config) -> CheckResult:
    """Slack's line of the start report."""
    if not config.is_on:
        fix = "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET or SLACK_APP_TOKEN to turn it on"
        return CheckResult("off", "Slack", "off", fix)
    who = "everybody"
    if config.allowed_users or config.allowed_channels:
        who = "allowed users and channels"
    way = "by Socket Mode" if config.slack_app_token.get_secret_value() else "at /webhooks/slack"
    fix = "" if config.allowed_users else "set ALLOWED_USERS to answer some only"
    return CheckResult("ok", "Slack", f"answers {who} {way}", fix)


@asynccontextmanager
async def open(config: Config, host: Host) -> AsyncIterator[Channel]:
    """The channel, while the context is open."""
    from bot.channels.slack.channel import Slack

    async with Slack(config, host) as slack:
        yield slack


async def checks(config: Config, host: Host) -> list[CheckResult]:
    """What ``kaiwa doctor`` says of Slack."""
    from bot.channels.slack.doctor import run_checks

    return await run_checks(config, host.kv)
