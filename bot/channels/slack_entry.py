"""Slack in the registry's form, until its package has that form itself."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from pydantic import BaseModel, SecretStr

from bot.channels import Channel, Host
from bot.checks import CheckResult
from bot.variables import Names, Secret, SlackURL

if TYPE_CHECKING:
    from bot.channels.slack import Options


class Config(BaseModel):
    """What an operator sets for Slack; field names are the variables in lower case."""

    slack_signing_secret: Secret = SecretStr("")
    slack_bot_token: Secret = SecretStr("")
    slack_app_token: Secret = SecretStr("")
    slack_api_base_url: SlackURL = "https://slack.com/api/"
    slack_follow_threads: bool = False
    allowed_users: Names = ()
    allowed_channels: Names = ()

    @property
    def is_on(self) -> bool:
        """Whether Slack is used."""
        return bool(self.slack_bot_token.get_secret_value())


def open(config: Config, host: Host) -> AbstractAsyncContextManager[Channel]:
    """The channel, while the context is open."""
    from bot.channels.slack import Slack

    options = _options(config, host)
    return Slack(host.accept, host.kv, host.texts, options, host.tool_commands, door_kv=host.door_kv)


async def checks(config: Config, host: Host) -> list[CheckResult]:
    """What ``kaiwa doctor`` says of Slack."""
    from bot.channels.slack.findings import examine

    return await examine(_options(config, host), host.kv)


def _options(config: Config, host: Host) -> Options:
    from bot.channels.slack import Options

    return Options(
        signing_secret=config.slack_signing_secret.get_secret_value(),
        bot_token=config.slack_bot_token.get_secret_value(),
        app_token=config.slack_app_token.get_secret_value() if host.listens else "",
        api_base_url=config.slack_api_base_url,
        language=host.language,
        bot_name=host.bot_name,
        allowed_users=config.allowed_users,
        allowed_channels=config.allowed_channels,
        follow_threads=config.slack_follow_threads,
    )
