"""The Slack channel: mentions answered in their threads, 1:1 conversations, slash commands; by webhook or Socket Mode.

    channel      the channel itself         types             Slack's events, and addresses
    inbound      the webhook endpoint       transport         Bolt, and Socket Mode
    events       what is meant for the bot  lookups           people, threads, the bot's own ids
    client       Slack's Web API            files             images that people send
    delivery     replies on their way       messages          one message, posted once
    approvals    questions with buttons     formatting        mrkdwn, and long answers in pieces
    streaming    an answer as it grows      stream_delivery   the stream becomes the answer
    presence     status and stop button     assistant         the assistant's pane
    options      settings, scopes, timing   doctor            for kaiwa doctor
    tasks        work that nobody waits for

Its docs: https://docs.slack.dev/
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from pydantic import BaseModel, SecretStr

from bot.channels import Channel, Host, Recipient
from bot.channels.slack.options import Options
from bot.checks import CheckResult
from bot.settings import Names, Secret, SlackURL

NO_SECRET = SecretStr("")

RECIPIENT = Recipient(r"[CDGUW][A-Z0-9]{2,}", "slack:C… (a channel's or person's id)")


class Config(BaseModel):
    """What an operator sets for Slack; field names are the variables in lower case."""

    slack_bot_token: Secret = NO_SECRET
    slack_signing_secret: Secret = NO_SECRET
    slack_app_token: Secret = NO_SECRET
    slack_api_base_url: SlackURL = "https://slack.com/api/"
    slack_follow_threads: bool = False
    allowed_users: Names = ()
    allowed_channels: Names = ()

    @property
    def is_on(self) -> bool:
        """The bot token turns Slack on, with a signing secret (HTTP) or an app token (Socket Mode)."""
        return bool(self.slack_bot_token.get_secret_value())


def describe(config: Config) -> CheckResult:
    """Slack's line of the start report."""
    if not config.is_on:
        fix = "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET or SLACK_APP_TOKEN to turn it on"
        return CheckResult("off", "Slack", "off", fix)
    who = "allowed users and channels" if config.allowed_users or config.allowed_channels else "everybody"
    way = "by Socket Mode" if config.slack_app_token.get_secret_value() else "at /webhooks/slack"
    fix = "" if config.allowed_users else "set ALLOWED_USERS to answer some only"
    return CheckResult("ok", "Slack", f"answers {who} {way}", fix)


def open(config: Config, host: Host) -> AbstractAsyncContextManager[Channel]:
    """The channel, connected for as long as the context lasts."""
    from bot.channels.slack.channel import Slack

    options = _options(config, host.language, listens=host.listens)
    return Slack(host.accept, host.kv, host.texts, options, host.tool_commands, host.door_kv)


async def checks(config: Config, host: Host) -> list[CheckResult]:
    """What ``kaiwa doctor`` reports."""
    from bot.channels.slack.doctor import run_checks

    return await run_checks(_options(config, host.language, listens=True), host.kv)


def _options(config: Config, language: str, *, listens: bool) -> Options:
    return Options(
        signing_secret=config.slack_signing_secret.get_secret_value(),
        bot_token=config.slack_bot_token.get_secret_value(),
        app_token=config.slack_app_token.get_secret_value() if listens else "",
        api_base_url=config.slack_api_base_url,
        language=language,
        allowed_users=config.allowed_users,
        allowed_channels=config.allowed_channels,
        follow_threads=config.slack_follow_threads,
    )
