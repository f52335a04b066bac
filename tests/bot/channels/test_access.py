"""What becomes of a start where platforms refuse our secrets or are away."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.channels import notify_nobody
from bot.channels.access import Access
from bot.channels.line.channel import Line
from bot.channels.slack.channel import Slack
from bot.errors import DeliverLater, TokenRefused
from tests.bot.channels.line.rig import Rig as LineRig
from tests.bot.channels.slack.rig import Rig as SlackRig
from tests.bot.harness import Mailbox
from tests.fakes.line import LineFake
from tests.fakes.slack import APP_TOKEN, BOT_TOKEN, SlackFake
from tests.waiting import until

AUTH, CONNECT = "auth.test", "apps.connections.open"
REFUSALS = ("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired")


class Guarded(Mailbox):
    """A channel whose platform answers as a test says, and then takes the secrets.

    Attributes:
        answers: None is no answer at all.
        started: the answers after the first one come when it is set.
    """

    def __init__(self, *answers: Exception | None) -> None:
        super().__init__()
        self.answers = list(answers)
        self.started = asyncio.Event()
        self._is_asked = False

    async def check_access(self) -> None:
        if self._is_asked:
            await self.started.wait()
        self._is_asked = True
        if not self.answers:
            return
        answer = self.answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        else:
            raise answer


class Operator:
    """Gets alerts (``bot.channels.Notify``)."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    async def __call__(self, cause: Any, detail: str = "", *, platform: str = "") -> None:
        self.told.append((cause, detail, platform))


async def test_a_refusal_ends_the_start_and_nothing_else() -> None:
    """Where Kaiwa runs already, as in a process that replaces another, it is told."""
    refused = TokenRefused("BOX_TOKEN: refused")
    with pytest.raises(TokenRefused, match=r"^BOX_TOKEN: refused$"):
        async with Access(notify_nobody, ends=True).check({"box": Guarded(refused)}):
            pytest.fail("started")
    operator = Operator()
    access = Access(operator, ends=False, refused_s=0.0)
    box = Guarded(refused, refused)
    with capture_logs() as logged:
        async with access.check({"box": box}):
            box.started.set()
            await until(lambda: not access.missing)
    assert box.answers == []
    assert operator.told == [("token_refused", "BOX_TOKEN: refused", "box")] * 2
    assert [line["event"] for line in logged] == ["platform.away", "platform.back"]


async def test_a_platform_that_is_away_is_asked_until_it_is_back() -> None:
    """It is a fact while it lasts, and two lines of the log; the start waits for none of it."""
    operator, seen = Operator(), list[dict[str, str]]()
    access = Access(operator, ends=True, again_s=0.0)
    away = [DeliverLater(f"attempt {number}", 0.0) for number in range(3)]
    boxes = {"box": Guarded(*away), "other": Guarded()}
    with capture_logs() as logged:
        async with access.check(boxes):
            seen.append(dict(access.missing))
            boxes["box"].started.set()
            await until(lambda: not access.missing)
    assert seen == [{"box": "attempt 0"}]
    assert [line["event"] for line in logged] == ["platform.away", "platform.back"]
    assert operator.told == [("platform_away", f"attempt {number}", "box") for number in range(3)]


async def test_a_platform_that_refuses_after_it_was_away_ends_nothing() -> None:
    """Kaiwa runs by then, and answers on its other channels."""
    operator = Operator()
    access = Access(operator, ends=True, again_s=0.0)
    box = Guarded(DeliverLater("away", 0.0), TokenRefused("BOX_TOKEN: refused"))
    async with access.check({"box": box}):
        box.started.set()
        await until(lambda: len(operator.told) == 2)
        assert access.missing == {"box": "BOX_TOKEN: refused"}


async def test_the_start_does_not_wait_for_a_platform_that_is_silent() -> None:
    """It is asked on in the background, and shown as away until it answers."""
    access = Access(notify_nobody, ends=True, start_s=0.01)
    async with access.check({"box": Guarded(None), "other": Guarded()}):
        assert access.missing == {"box": "no answer yet"}
    async with Access(notify_nobody, ends=True).check({}):
        pass


@pytest.mark.parametrize("error", REFUSALS)
async def test_slack_refuses_the_bot_token(slack: SlackFake, error: str) -> None:
    """The line names the variable and where to click, and never the token."""
    slack.fail(AUTH, error)
    async with open_slack(slack) as channel:
        with pytest.raises(TokenRefused) as refused:
            await channel.check_access()
    said = str(refused.value)
    assert said.startswith(
        f"SLACK_BOT_TOKEN: Slack refuses it ({error}); copy it again at https://"
    )
    assert said.endswith("then run kaiwa doctor")
    assert BOT_TOKEN not in said


async def test_slack_refuses_the_app_token(slack: SlackFake) -> None:
    """It is tried where Kaiwa starts, and once: the other processes of the port leave it to the one
    that has the connection."""
    wrong = "xapp-another"
    async with open_slack(slack, slack_app_token=wrong, is_start=True) as channel:
        with pytest.raises(TokenRefused, match=r"^SLACK_APP_TOKEN: .*invalid_auth.*Socket Mode"):
            await channel.check_access()
    async with open_slack(slack, slack_app_token=APP_TOKEN, is_start=True) as channel:
        await channel.check_access()
        await until(lambda: slack.connected == 1)
    asked = len(slack.called(CONNECT))
    async with open_slack(slack, slack_app_token=APP_TOKEN, slack_signing_secret="") as channel:
        await channel.check_access()
        await until(lambda: slack.opened == 2)
    assert (asked, len(slack.called(CONNECT))) == (3, 4)


@pytest.mark.parametrize("trouble", ["break_down", "hang_up", "limit", "transient"])
async def test_slack_is_away(slack: SlackFake, trouble: str) -> None:
    """No refusal: neither an outage, nor too many calls."""
    if trouble == "limit":
        slack.limit(AUTH, 7)
    elif trouble == "transient":
        slack.fail(AUTH, "service_unavailable")
    else:
        getattr(slack, trouble)(AUTH)
    async with open_slack(slack) as channel:
        with pytest.raises(DeliverLater) as away:
            await channel.check_access()
        assert not isinstance(away.value, TokenRefused)
        assert away.value.after == (7 if trouble == "limit" else 5)
        await channel.check_access()


def open_slack(fake: SlackFake, **given: Any) -> Slack:
    """The channel, to be entered."""
    return SlackRig(fake, **given).slack


async def test_line_refuses_the_access_token(line: LineFake) -> None:
    """The line names the variable and where to click."""
    async with open_line(line) as channel:
        await channel.check_access()
        line.access_token = "another"
        with pytest.raises(TokenRefused, match=r"^LINE_CHANNEL_ACCESS_TOKEN: .*https://.*doctor$"):
            await channel.check_access()


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_line_is_away(line: LineFake, status: int) -> None:
    """With an answer or without one."""
    line.fail("info", status, retry_after="9")
    async with open_line(line) as channel:
        with pytest.raises(DeliverLater) as away:
            await channel.check_access()
        assert away.value.after == 9
        line.trouble("info", "cut", times=2)  # a GET is tried once more by itself
        with pytest.raises(DeliverLater, match="no answer from LINE"):
            await channel.check_access()
    async with LineRig(None).line as unreachable:
        with pytest.raises(DeliverLater, match="LINE cannot be reached"):
            await unreachable.check_access()


def open_line(fake: LineFake) -> Line:
    """The channel, to be entered."""
    return LineRig(fake).line
