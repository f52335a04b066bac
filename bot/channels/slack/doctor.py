"""What ``kaiwa doctor`` checks of Slack."""

from __future__ import annotations

from dataclasses import replace

from bot.channels import KeyValue
from bot.channels.slack.client import IDENTIFY, ApiResponse, Client, misplaced
from bot.channels.slack.config import Config
from bot.channels.slack.inbound import path_of
from bot.channels.traffic import read_traffic
from bot.checks import CheckResult
from bot.clock import now_ms
from bot.errors import DeliverLater, StoreUnavailable
from bot.settings import Secret
from bot.transcript import channel_named

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


async def run_checks(config: Config, kv: KeyValue, account: str = "") -> list[CheckResult]:
    """Check the token, the scopes, the ways in, and the recorded traffic."""
    results: list[CheckResult] = []
    for team, _, own in config.workspaces(account):
        for result in await check_bot_token(own.slack_bot_token, own.slack_api_base_url, team):
            results.append(replace(result, name=f"{result.name} {team}".rstrip()))
    if config.slack_app_token.get_secret_value():
        results += await check_app_token(config.slack_app_token, config.slack_api_base_url)
    if config.slack_signing_secret.get_secret_value():
        results.append(CheckResult("ok", "Slack webhook", f"events may come to {path_of(account)}"))
    return [*results, await _check_traffic(kv, channel_named("slack", account))]


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
