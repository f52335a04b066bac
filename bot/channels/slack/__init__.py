"""Slack: mentions answered in their threads, 1:1 conversations, slash commands; by webhook or
Socket Mode.

    channel     the Protocol's class        config       what an operator sets
    app         ways in of several workspaces
    inbound     webhook and Socket Mode     types        Slack's data as structs
    events      from an event to what stands in the inbox
    client      the API                     lookups      people, threads, the bot itself
    formatting  Slack's text and blocks     files        those of people, those of answers
    delivery    how a reply leaves          messages     one message, posted once
    cards       those for one person        presence     status line, stop button
    streaming   an answer as it is written  live_answer  what is to be shown of it
    views       home tab and forms          shortcuts    menu of a message
    doctor      for kaiwa doctor            manifest     of the app, filled in

This module is light: what it opens is imported then. Its docs: https://docs.slack.dev/
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from bot.channels import Channel, Host, Recipient
from bot.channels.slack.config import AppConfig, Config
from bot.checks import CheckResult

__all__ = ["RECIPIENT", "AppConfig", "Config", "accounts", "checks", "describe", "open"]

RECIPIENT = Recipient(r"[CDGUW][A-Z0-9]{2,}", "slack:C… (a channel's or person's id)")


def accounts(config: Config, account: str) -> list[str]:
    """The accounts of the channels that ``open`` opens."""
    return [name for _, name, _ in config.workspaces(account)]


def describe(config: Config, account: str) -> CheckResult:
    """Slack's line of the start report."""
    if not config.is_on:
        fix = "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET or SLACK_APP_TOKEN to turn it on"
        return CheckResult("off", "Slack", "off", fix)
    path = f"/webhooks/slack/{account}".rstrip("/")
    teams = [team for team, _, _ in config.workspaces(account) if team]
    where = f", in {', '.join(teams)}" if teams else ""
    who = "everybody"
    if config.allowed_users or config.allowed_channels:
        who = "allowed users and channels"
    way = "by Socket Mode" if config.slack_app_token.get_secret_value() else f"at {path}"
    fix = "" if config.allowed_users else "set ALLOWED_USERS to answer some only"
    return CheckResult("ok", "Slack", f"answers {who} {way}{where}", fix)


@asynccontextmanager
async def open(config: Config, host: Host) -> AsyncIterator[Sequence[Channel]]:
    """The channels of the app's workspaces, while the context is open."""
    from bot.channels.slack.app import App
    from bot.channels.slack.channel import DEFAULT_TIMING, Slack

    app = App(config, host, DEFAULT_TIMING)
    async with AsyncExitStack() as stack:
        channels: list[Channel] = []
        for team, account, own in config.workspaces(host.account):
            channel = Slack(own, replace(host, account=account), app=app, team=team)
            channels.append(await stack.enter_async_context(channel))
        await stack.enter_async_context(app)
        yield channels


async def checks(config: Config, host: Host) -> list[CheckResult]:
    """What ``kaiwa doctor`` says of Slack."""
    from bot.channels.slack.doctor import run_checks

    return await run_checks(config, host.kv, host.account, host.named)
