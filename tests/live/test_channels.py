"""LINE's and Slack's calls that only read, with the tokens of whoever runs the test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.channels import line, slack
from bot.channels.line.sdk import Sdk
from bot.channels.slack.client import Client as SlackClient
from bot.settings import Settings, config_beside

RequireReachable = Callable[[str], None]


async def test_line(config: Settings, require_reachable: RequireReachable) -> None:
    """The account, its webhook's address, the month's quota."""
    ours = config_beside(line.Config, config)
    if not ours.line_channel_access_token.get_secret_value():
        pytest.skip("LINE_CHANNEL_ACCESS_TOKEN is not set")
    require_reachable(ours.line_api_base_url)
    async with Sdk(ours) as sdk:
        bot, quota, webhook = (
            await sdk.get_bot(),
            await sdk.get_quota(),
            await sdk.get_webhook(),
        )
    assert bot.basic_id.startswith("@")
    assert quota.used >= 0
    assert webhook is None or webhook.url.startswith("https://")


async def test_slack(config: Settings, require_reachable: RequireReachable) -> None:
    """The bot of the token, what the token allows, and the bot's own entry among the people."""
    if not (token := config.slack_bot_token.get_secret_value()):
        pytest.skip("SLACK_BOT_TOKEN is not set")
    url = config_beside(slack.Config, config).slack_api_base_url
    require_reachable(url)
    async with SlackClient(token, url) as client:
        reported = await client.post("auth.test")
        assert reported.ok, reported.error
        assert "chat:write" in reported.scopes
        person = await client.get("users.info", user=reported.data["user_id"])
    assert person.ok, person.error
    assert person.data["user"]["is_bot"]
