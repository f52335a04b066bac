"""Messages taken back while another process than the one that hears of it writes, or has died, over
the answer."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.process.webhooks import post_slack
from tests.waiting import until

HALF = (
    "It is 21 °C in Tokyo, the sun is out, and if nothing unforeseen comes from the sea it will "
    "stay"
)
TS = "1795298220.000100"


async def test_a_model_that_hangs_over_an_unsent_message_is_left_at_once(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, line: LineFake
) -> None:
    """Nothing is said in LINE, and the conversation is free for the next message."""
    question = line.event(message=line_events.text_message("Oops"))
    unsend = line_events.event("unsend", unsend={"messageId": question["message"]["id"]})
    gemini.stall()
    async with (
        kaiwa(tmp_path, "run", "--no-worker", **variables) as door,
        kaiwa(tmp_path, "worker", ready=WORKING, **variables),
    ):
        assert await door.post("/webhooks/line", *line_events.webhook(question)) == 200
        await until(lambda: len(gemini.requests) == 1)
        assert await door.post("/webhooks/line", *line_events.webhook(unsend)) == 200
        await door.idle(10)
        gemini.say("Hello")
        greeting = line.event(message=line_events.text_message("Hi"))
        assert await door.post("/webhooks/line", *line_events.webhook(greeting)) == 200
        await until(lambda: line.texts == [["Hello"]])
    assert len(gemini.requests) == 2


async def test_half_an_answer_to_a_deleted_message_goes_though_its_process_was_killed(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """The message is deleted between two processes: the second one deletes what the first has
    shown."""
    slack.add_user()
    gemini.say(HALF, end="stalled")
    body = slack_events.as_json(
        slack_events.deleted(f"<@{slack_events.BOT}> how warm is Tokyo?", TS)
    )
    async with kaiwa(tmp_path, "run", "--no-worker", **variables) as door:
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables) as first:
            assert await post_slack(door, slack, "how warm is Tokyo?", TS) == 200
            await until(lambda: slack.shown == [HALF])
            assert await first.stop(signal.SIGKILL) == -signal.SIGKILL
        assert await door.post("/webhooks/slack", body, slack_events.signed(body)) == 200
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables):
            await until(lambda: slack.shown == [], 20)
    assert (slack.posted, len(gemini.requests)) == ([], 1)
