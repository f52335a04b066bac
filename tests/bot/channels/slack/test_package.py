"""The package as a registry sees it: its configuration, how it is opened and checked, and that it
is light."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
from pydantic import SecretStr

from bot import texts
from bot.channels import Host, slack
from bot.channels.slack import Config
from tests.bot.channels.slack.rig import Inbox
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackFake
from tests.waiting import until


@pytest.fixture
def host() -> Host:
    kv = LocalKeyValue()
    return Host(Inbox(), kv, kv, texts.load(), listens=nullcontext)


@pytest.fixture
def config(fake: SlackFake) -> Config:
    return Config(
        slack_bot_token=SecretStr(BOT_TOKEN),
        slack_app_token=SecretStr(APP_TOKEN),
        slack_signing_secret=SecretStr("secret"),
        slack_api_base_url=fake.api_base_url,
    )


async def test_an_open_channel_has_its_webhook_and_its_socket(
    fake: SlackFake, config: Config, host: Host
) -> None:
    """Socket Mode only in a process that takes messages in."""
    async with slack.open(config, host) as channel:
        assert [getattr(route, "path", "") for route in channel.routes()] == ["/webhooks/slack"]
        await until(lambda: bool(fake.called("apps.connections.open")))
    asked = len(fake.called("apps.connections.open"))
    async with slack.open(config, replace(host, listens=None)):
        await until(lambda: len(fake.called("auth.test")) == 2)
    assert len(fake.called("apps.connections.open")) == asked


async def test_checks_cover_both_ways_in(config: Config, host: Host) -> None:
    """Also in a process that takes no messages in, as kaiwa doctor is."""
    results = await slack.checks(config, replace(host, listens=None))
    names = ["Slack token", "Slack scopes", "Slack socket", "Slack webhook", "Slack traffic"]
    expected = [(name, "ok") for name in names]
    assert [(result.name, result.result) for result in results] == expected


@pytest.mark.process
def test_importing_the_package_imports_no_vendor() -> None:
    """A registry names every channel, and most are off."""
    code = "import sys, bot.channels.slack; print(*sys.modules)"
    imported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bot.channels.slack" in imported
    assert [name for name in imported if name.startswith(("slack_", "aiohttp"))] == []
