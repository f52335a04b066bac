"""LINE and Slack through the whole process: signed webhooks in, the vendors' own SDKs out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.process.webhooks import post_line, post_slack
from tests.waiting import until


async def test_line_is_answered_by_its_reply_token(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """Heard by webhook, answered once, as LINE shows it; a redelivery of the same message changes
    nothing."""
    gemini.say("**21 °C** in Tokyo")
    async with kaiwa(tmp_path, "run", **variables) as running:
        body, headers = line_events.webhook(
            line.event(message=line_events.text_message("東京は？"))
        )
        assert [await running.post("/webhooks/line", body, headers) for _ in range(2)] == [200, 200]
        await until(lambda: bool(line.texts))
        assert await running.stop() == 0
    assert line.texts == [["21 °C in Tokyo"]]
    assert len(gemini.requests) == 1
    assert "東京は" not in running.output


async def test_slack_is_answered_in_the_thread(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """A mention is answered in its own thread."""
    gemini.say("**21 °C** in Tokyo")
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await post_slack(running, slack, "how warm is Tokyo?", "1795298220.000100") == 200
        await until(lambda: bool(slack.posted))
    (posted,) = slack.posted
    assert slack.answers == ["**21 °C** in Tokyo"]
    assert posted["thread_ts"] == "1795298220.000100"


async def test_two_processes_share_line_and_slack(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """The door in one process, the work in another: both channels are answered from there."""
    gemini.say("one")
    gemini.say("two")
    async with (
        kaiwa(tmp_path, "run", "--no-worker", **variables) as web,
        kaiwa(tmp_path, "worker", ready=WORKING, **variables) as worker,
    ):
        assert await post_line(web, line, "hello") == 200
        await until(lambda: bool(line.texts))
        assert await post_slack(web, slack, "hello", "1795298220.000200") == 200
        await until(lambda: bool(slack.posted))
        await until(lambda: len(worker.log("turn.answered")) == 2)


async def test_the_door_refuses_what_is_not_signed(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    """400 on LINE, 401 on Slack; signed nonsense is 400, too much is 413; nothing is taken in."""
    async with kaiwa(tmp_path, "run", "--no-worker", **variables) as running:
        assert await running.post("/webhooks/line", b"{}", {"x-line-signature": "AAAA"}) == 400
        assert await running.post("/webhooks/line", b"{}", {}) == 400
        assert await running.post("/webhooks/line", *line_events.signed(b"\xff\xfe no JSON")) == 400
        assert (
            await running.post("/webhooks/line", *line_events.signed(b"x" * (1024 * 1024 + 1)))
            == 413
        )
        assert await running.post("/webhooks/slack", b"{}", {}) == 401
        assert await running.post("/webhooks/slack", b"{", slack_events.signed(b"{")) == 400
        stale = slack_events.signed(b"{}", at=1_000_000.0)
        assert await running.post("/webhooks/slack", b"{}", stale) == 401


async def test_a_channel_that_is_off_has_no_door(tmp_path: Path) -> None:
    """Without its secrets a channel's route does not exist, and start-up says which variable brings
    it."""
    async with kaiwa(tmp_path, "run") as running:
        assert await running.post("/webhooks/line", b"{}", {}) == 404
        assert await running.post("/webhooks/slack", b"{}", {}) == 404
        assert "LINE_CHANNEL_SECRET" in running.output
        assert "SLACK_BOT_TOKEN" in running.output


@pytest.mark.parametrize(
    "missing", ["LINE_CHANNEL_SECRET", "LINE_CHANNEL_ACCESS_TOKEN", "SLACK_BOT_TOKEN"]
)
async def test_a_half_filled_channel_stops_the_start(
    tmp_path: Path, variables: dict[str, str], missing: str
) -> None:
    """One line with the variable that is missing."""
    del variables[missing]
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await running.process.wait() == 2
    assert running.lines[-1].startswith(f"kaiwa: {missing}: ")
