"""Slack: mentions answered in their threads, 1:1 conversations, slash commands; by webhook or
Socket Mode.

    channel     the Protocol's class        config       what an operator sets
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

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.channels import Channel, Host, Recipient
from bot.channels.slack.config import Config
from bot.checks import CheckResult

__all__ = ["RECIPIENT", "Config", "checks", "describe", "open"]

RECIPIENT = Recipient(r"[CDGUW][A-Z0-9]{2,}", "slack:C… (a channel's or person's id)")


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
