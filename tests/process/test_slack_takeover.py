"""Slack after the process that was answering was killed: whoever goes on leaves no half answer and
no turn that seems to run."""

from __future__ import annotations

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import BOT, CHANNEL, as_json, deleted, mention
from tests.process.kaiwa_process import Installation
from tests.process.webhooks import post_slack, post_to_slack
from tests.waiting import until

HALF = (
    "It is 21 °C in Tokyo, the sun is out, and if nothing unforeseen comes from the sea it will "
    "stay"
)
ASKED = "how warm is Tokyo?"
DELETED, STOPPED, LATER = (f"179529822{number}.000100" for number in range(3))


async def test_what_a_killed_process_was_showing_is_put_right(
    here: Installation, gemini: GeminiFake, slack: SlackFake
) -> None:
    """Half an answer goes, for its question was deleted meanwhile; ``/stop`` ends the other turn
    and removes Slack's button."""
    slack.add_user()
    async with here.web() as web:
        async with here.worker() as killed:
            gemini.say(HALF, end="stalled")
            assert await post_slack(web, slack, ASKED, DELETED) == 200
            await until(lambda: slack.shown == [HALF])
            gemini.stall()
            assert await post_slack(web, slack, ASKED, STOPPED) == 200
            await until(lambda: slack.sessions.get((CHANNEL, STOPPED)) == "processing", 10)
            await killed.kill()
        gone = as_json(deleted(f"<@{BOT}> {ASKED}", DELETED))
        assert await post_to_slack(web, gone) == 200
        slack.add_message(CHANNEL, LATER, "/stop", thread_ts=STOPPED)
        stop = as_json(mention("/stop", LATER, thread_ts=STOPPED))
        assert await post_to_slack(web, stop) == 200
        async with here.worker():
            await until(lambda: slack.shown == ["止めました。"], 20)
            await until(lambda: slack.sessions[CHANNEL, STOPPED] == "active", 10)
            await web.idle(10)
    assert len(gemini.requests) == 2
