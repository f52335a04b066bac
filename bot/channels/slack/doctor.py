"""What ``kaiwa doctor`` checks of Slack."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from bot.channels import KeyValue
from bot.channels.slack.client import IDENTIFY, ApiResponse, Client, misplaced
from bot.channels.slack.config import Config
from bot.channels.slack.inbound import path_of
from bot.channels.traffic import read_traffic
from bot.checks import CheckResult
from bot.clock import now_ms
from bot.errors import DeliverLater, StoreUnavailable
from bot.settings.types import Secret
from bot.transcript import channel_named, channel_of
from toolset.web.json_values import as_object

MOST_CHANNELS = 40  # that are asked about: Slack takes 50 such calls a minute
IN_CHANNEL = re.compile(r"slack[^:]*:[^:]+:([CG]\w+)")
# slack_manifest.yaml asks for the same; a test compares.
SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "usergroups:read",
    "users:read",
)


async def run_checks(
    config: Config, kv: KeyValue, account: str = "", named: Collection[str] = ()
) -> list[CheckResult]:
    """Check the token, the scopes, the channels that are named, the ways in, and the recorded
    traffic."""
    results: list[CheckResult] = []
    for team, name, own in config.workspaces(account):
        found = await check_bot_token(own.slack_bot_token, own.slack_api_base_url, team)
        ids = [IN_CHANNEL.match(one) for one in named if channel_of(one) == _channel(name)]
        channels = list(dict.fromkeys(one[1] for one in ids if one))
        if channels and found[0].result == "ok":
            found.append(await _check_membership(channels[:MOST_CHANNELS], own))
        results += [replace(one, name=f"{one.name} {team}".rstrip()) for one in found]
    if config.slack_app_token.get_secret_value():
        results += await check_app_token(config.slack_app_token, config.slack_api_base_url)
    if config.slack_signing_secret.get_secret_value():
        results.append(CheckResult("ok", "Slack webhook", f"events may come to {path_of(account)}"))
    return [*results, await _check_traffic(kv, _channel(account))]


def _channel(account: str) -> str:
    return channel_named("slack", account)


async def _ask(base_url: str, token: Secret, method: str) -> ApiResponse:
    async with Client(token.get_secret_value(), base_url) as client:
        return await client.post(method)


async def check_bot_token(token: Secret, base_url: str, team: str = "") -> list[CheckResult]:
    """Check SLACK_BOT_TOKEN and its scopes; where a team is named, also that it is that one's."""
    fix = (
        "copy the Bot User OAuth Token of OAuth & Permissions again; is Slack reachable from here?"
    )
    try:
        response = await _ask(base_url, token, IDENTIFY)
        problem = f"SLACK_BOT_TOKEN was refused ({response.error})"
        if response.ok and not (problem := misplaced(team, response)):
            detail = f"works for {response.data.get('user')} in {response.data.get('team')}"
            works = CheckResult("ok", "Slack token", detail)
            return [works, _check_scopes(response.scopes)]
    except DeliverLater as later:
        problem = f"Slack does not answer ({later})"
    return [CheckResult("failure", "Slack token", problem, fix)]


def _check_scopes(granted: str) -> CheckResult:
    scopes = {scope.strip() for scope in granted.split(",")}
    missing = [scope for scope in SCOPES if scope not in scopes]
    if not missing:
        return CheckResult("ok", "Slack scopes", "all that the manifest asks for")
    fix = "add them under OAuth & Permissions, then install the app again"
    return CheckResult("warning", "Slack scopes", f"missing: {', '.join(missing)}", fix)


async def _check_membership(channels: Sequence[str], config: Config) -> CheckResult:
    """Check that the bot is in channels; Slack knows no private one for whoever is not in it."""
    name, absent = "Slack channels", []
    token = config.slack_bot_token.get_secret_value()
    try:
        async with Client(token, config.slack_api_base_url) as client:
            asked = (client.get("conversations.info", channel=channel) for channel in channels)
            answers = await asyncio.gather(*asked)
    except DeliverLater as later:
        return CheckResult("warning", name, f"not known: Slack does not answer ({later})")
    for channel, answer in zip(channels, answers, strict=True):
        if not answer.ok and answer.error != "channel_not_found":
            return CheckResult("warning", name, f"not known: {answer.error}")
        if not as_object(answer.data.get("channel")).get("is_member", answer.ok):
            absent.append(channel)
    if not absent:
        return CheckResult("ok", name, f"in each of {len(channels)} that PLACES names")
    fix = "write /invite @ and the app's name there, or correct the ids"
    return CheckResult("warning", name, f"not in {', '.join(absent)}, which PLACES names", fix)


async def check_app_token(token: Secret, base_url: str) -> list[CheckResult]:
    """Check SLACK_APP_TOKEN: ask for a connection without opening it."""
    name = "Slack socket"
    try:
        response = await _ask(base_url, token, "apps.connections.open")
    except DeliverLater as later:
        fix = "is Slack reachable from here?"
        return [CheckResult("failure", name, f"Slack does not answer ({later})", fix)]
    if response.ok:
        return [CheckResult("ok", name, "events come by Socket Mode")]
    fix = "it needs the scope connections:write, and the app Socket Mode switched on"
    return [CheckResult("failure", name, f"SLACK_APP_TOKEN was refused ({response.error})", fix)]


async def _check_traffic(kv: KeyValue, channel: str) -> CheckResult:
    try:
        seen = await read_traffic(kv, channel)
    except StoreUnavailable:
        return CheckResult("warning", "Slack traffic", "not known: the store does not answer")
    return seen.check("Slack traffic", "SLACK_SIGNING_SECRET", now_ms())
