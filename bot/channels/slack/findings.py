"""What ``kaiwa doctor`` says of Slack."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from bot.channels.kv import KeyValue
from bot.channels.slack.api import Api
from bot.channels.slack.doctor import Checkup, check
from bot.channels.slack.inbound import PATH
from bot.channels.slack.options import Options
from bot.checks import CheckResult
from bot.errors import DeliverLater


async def run_checks(options: Options, notes: KeyValue, clock: Callable[[], float] = time.time) -> list[CheckResult]:
    """What Slack says of the app, how events come in, and what was noted of the traffic.

    Args:
        clock: seconds since the epoch.
    """
    async with Api(options) as api:
        checkup = await check(api, notes)
    found = _judge_token(checkup)
    if options.app_token:
        found.append(await _check_socket(options))
    if options.signing_secret:
        found.append(CheckResult("ok", "Slack webhook", f"events may come to {PATH}"))
    return [*found, checkup.traffic.check("Slack traffic", "SLACK_SIGNING_SECRET", round(clock() * 1_000))]


def _judge_token(checkup: Checkup) -> list[CheckResult]:
    if checkup.problem:
        fix = "copy the Bot User OAuth Token of OAuth & Permissions again; is Slack reachable from here?"
        return [CheckResult("failure", "Slack token", checkup.problem, fix)]
    token = CheckResult("ok", "Slack token", f"works for {checkup.bot} in {checkup.workspace}")
    if not checkup.missing_scopes:
        return [token, CheckResult("ok", "Slack scopes", "all that the manifest asks for")]
    missing = f"missing: {', '.join(checkup.missing_scopes)}"
    fix = "add them under OAuth & Permissions, then install the app again"
    return [token, CheckResult("warning", "Slack scopes", missing, fix)]


async def _check_socket(options: Options) -> CheckResult:
    """Asking for a connection opens none."""
    name = "Slack socket"
    try:
        async with Api(replace(options, bot_token=options.app_token)) as api:
            answer = await api.post("apps.connections.open")
    except DeliverLater as later:
        return CheckResult("failure", name, f"Slack does not answer ({later})", "is Slack reachable from here?")
    if answer.ok:
        return CheckResult("ok", name, "events come by Socket Mode")
    fix = "it needs the scope connections:write, and the app Socket Mode switched on"
    return CheckResult("failure", name, f"SLACK_APP_TOKEN was refused ({answer.error})", fix)
