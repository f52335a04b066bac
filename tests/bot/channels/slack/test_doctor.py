"""What ``kaiwa doctor`` finds out about Slack."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from bot.channels.slack.doctor import run_checks
from bot.checks import CheckResult
from tests.bot.channels.slack.rig import Rig, open_rig, slack_config
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import APP_TOKEN, SlackFake
from tests.fakes.slack_events import (
    as_json,
)
from tests.waiting import until

QUIET = "last webhook not noted, last delivery not noted, bad signatures: none"
TOKEN_FIX = (
    "copy the Bot User OAuth Token of OAuth & Permissions again; is Slack reachable from here?"
)
SOCKET_FIX = "it needs the scope connections:write, and the app Socket Mode switched on"


async def found(fake: SlackFake, **changes: Any) -> list[CheckResult]:
    """The whole report."""
    return await run_checks(slack_config(fake.api_base_url, **changes), LocalKeyValue())


async def test_a_channel_in_order(fake: SlackFake) -> None:
    """With both ways in; a connection is asked for, and not opened."""
    assert await found(fake, slack_app_token=APP_TOKEN) == [
        CheckResult("ok", "Slack token", "works for kaiwa in Test"),
        CheckResult("ok", "Slack scopes", "all that the manifest asks for"),
        CheckResult("ok", "Slack socket", "events come by Socket Mode"),
        CheckResult("ok", "Slack webhook", "events may come to /webhooks/slack"),
        CheckResult("ok", "Slack traffic", QUIET),
    ]
    assert fake.connected == 0


async def test_without_a_signing_secret_there_is_no_webhook(fake: SlackFake) -> None:
    """And without an app token no socket."""
    socket_only = await found(fake, slack_app_token=APP_TOKEN, slack_signing_secret="")
    assert [finding.name for finding in socket_only][2:] == [
        "Slack socket",
        "Slack traffic",
    ]
    assert [finding.name for finding in await found(fake)][2:] == [
        "Slack webhook",
        "Slack traffic",
    ]


async def test_missing_scopes_are_named(fake: SlackFake) -> None:
    """An app made by hand."""
    fake.scopes = [scope for scope in fake.scopes if scope not in ("files:read", "commands")]
    assert (await found(fake))[1] == CheckResult(
        "warning",
        "Slack scopes",
        "missing: commands, files:read",
        "add them under OAuth & Permissions, then install the app again",
    )


async def test_a_refused_token_is_a_failure(fake: SlackFake) -> None:
    """Its scopes cannot be known then."""
    findings = await found(fake, slack_bot_token="xoxb-another")
    assert [finding.name for finding in findings] == [
        "Slack token",
        "Slack webhook",
        "Slack traffic",
    ]
    assert (findings[0].result, findings[0].detail) == (
        "failure",
        "SLACK_BOT_TOKEN was refused (invalid_auth)",
    )
    assert "xoxb-another" not in repr(findings)


async def test_a_refused_app_token_is_a_failure(fake: SlackFake) -> None:
    """The bot's own token in its place, for one."""
    socket = (await found(fake, slack_app_token="xapp-another"))[2]
    assert socket == CheckResult(
        "failure", "Slack socket", "SLACK_APP_TOKEN was refused (invalid_auth)", SOCKET_FIX
    )


async def test_a_slack_that_does_not_answer_is_a_failure(fake: SlackFake) -> None:
    """Each question says so."""
    fake.break_down("auth.test")
    fake.break_down("apps.connections.open")
    token, socket, *_ = await found(fake, slack_app_token=APP_TOKEN)
    assert (token.result, token.detail) == (
        "failure",
        "Slack does not answer (auth.test: status 503)",
    )
    assert (socket.result, socket.detail) == (
        "failure",
        "Slack does not answer (apps.connections.open: status 503)",
    )


async def test_a_wrong_secret_shows_in_the_traffic(fake: SlackFake, rig: Rig) -> None:
    """Nothing but bad signatures has come."""
    assert (await rig.post(as_json({}), {})).status_code == 401
    await until(lambda: "slack:bad_signatures" in rig.kv.stored)
    traffic = (await run_checks(slack_config(fake.api_base_url), rig.kv))[-1]
    assert (traffic.result, traffic.fix) == ("warning", "SLACK_SIGNING_SECRET is probably wrong")
    assert traffic.detail.endswith("bad signatures: 1")


async def test_a_refused_token_and_a_silent_slack_are_problems(fake: SlackFake, rig: Rig) -> None:
    """Each in a sentence; the store may be away meanwhile."""
    fake.fail("auth.test", "token_revoked")
    assert (await run_checks(slack_config(fake.api_base_url), rig.kv))[0] == CheckResult(
        "failure", "Slack token", "SLACK_BOT_TOKEN was refused (token_revoked)", TOKEN_FIX
    )
    fake.break_down("auth.test")
    rig.kv.away = True
    token, *_, seen = await run_checks(slack_config(fake.api_base_url), rig.kv)
    assert token == CheckResult(
        "failure", "Slack token", "Slack does not answer (auth.test: status 503)", TOKEN_FIX
    )
    assert (seen.result, seen.detail) == ("warning", "not known: the store does not answer")


async def test_who_the_bot_is_is_asked_until_slack_tells(fake: SlackFake) -> None:
    """A refused token is said in the log, and may be replaced."""
    fake.break_down("auth.test")
    fake.fail("auth.test", "invalid_auth")
    with capture_logs() as logged:
        async with open_rig(fake) as rig:
            assert rig.slack.identity.is_ours("U0000000B", None)
            assert rig.slack.identity.is_ours(None, "B0000000B")
            assert not rig.slack.identity.is_ours("U00000001", "B9")
            assert not rig.slack.identity.is_ours(None, None)
    assert [line["event"] for line in logged] == [
        "slack.identity_unknown",
        "slack.token_refused",
    ]


def test_secrets_stay_out_of_sight(fake: SlackFake) -> None:
    """Also where somebody prints the settings."""
    shown = repr(
        slack_config(fake.api_base_url, slack_signing_secret="made-up", slack_app_token=APP_TOKEN)
    )
    assert "xoxb" not in shown
    assert APP_TOKEN not in shown
    assert "made-up" not in shown
