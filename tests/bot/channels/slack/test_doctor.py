"""What the doctor finds out about Slack."""

from __future__ import annotations

from structlog.testing import capture_logs

from bot.channels.slack import SCOPES, Checkup
from tests.bot.channels.slack.desk import TS, Desk, delivery, open_desk, options
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import as_json, mention
from tests.waiting import until


async def test_a_healthy_channel_has_nothing_missing(fake: SlackFake, desk: Desk) -> None:
    """And tells when it was last called and answered."""
    assert await desk.send(mention("Hello", TS)) == 200
    await desk.slack.deliver("slack:x", delivery(), ours)
    await desk.slack.background.settled()
    await until(lambda: "slack:last_delivery" in desk.notes.kept)
    checkup = await desk.slack.check()
    assert (checkup.problem, checkup.workspace, checkup.bot, checkup.missing_scopes) == ("", "Test", "kaiwa", ())
    assert 0 < checkup.traffic.last_webhook <= checkup.traffic.last_delivery
    assert checkup.traffic.bad_signatures == 0
    assert tuple(fake.scopes) == SCOPES


async def test_missing_scopes_and_bad_signatures_are_named(fake: SlackFake, desk: Desk) -> None:
    """An app made by hand, or a secret of another app."""
    fake.scopes = ["chat:write", "users:read"]
    for _ in range(2):
        assert (await desk.post(as_json({}), {})).status_code == 401
    await until(lambda: desk.notes.kept.get("slack:bad_signatures") == b"2")
    checkup = await desk.slack.check()
    assert checkup.missing_scopes == tuple(scope for scope in SCOPES if scope not in fake.scopes)
    seen = checkup.traffic
    assert (seen.last_webhook, seen.last_delivery, seen.bad_signatures) == (0, 0, 2)


async def test_a_refused_token_and_a_silent_slack_are_problems(fake: SlackFake, desk: Desk) -> None:
    """Each in a sentence; the store may be away meanwhile."""
    fake.fail("auth.test", "token_revoked")
    assert await desk.slack.check() == Checkup("SLACK_BOT_TOKEN was refused (token_revoked)")
    fake.break_down("auth.test")
    desk.notes.away = True
    assert await desk.slack.check() == Checkup("Slack does not answer (auth.test: status 503)")


async def test_who_the_bot_is_is_asked_until_slack_tells(fake: SlackFake) -> None:
    """A refused token is said in the log, and may be replaced."""
    fake.break_down("auth.test")
    fake.fail("auth.test", "invalid_auth")
    with capture_logs() as logged:
        async with open_desk(fake) as desk:
            assert desk.slack.identity.is_ours("U0000000B", None)
            assert desk.slack.identity.is_ours(None, "B0000000B")
            assert not desk.slack.identity.is_ours("U00000001", "B9")
            assert not desk.slack.identity.is_ours(None, None)
    assert [line["event"] for line in logged] == [
        "slack.identity_unknown",
        "slack.token_refused",
    ]


def test_secrets_stay_out_of_sight(fake: SlackFake) -> None:
    """Also where somebody prints the settings."""
    shown = repr(options(fake))
    assert "xoxb" not in shown
    assert "secret" not in shown
