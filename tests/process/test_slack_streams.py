"""A process that dies while it shows an answer in Slack leaves a message; the next one leaves only
the whole answer."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.process.webhooks import post_slack
from tests.waiting import until

HALF = (
    "It is 21 °C in Tokyo, the sun is out, and if nothing unforeseen comes from the sea it will "
    "stay"
)
WHOLE = "It is 21 °C in Tokyo."
TS = "1795298220.000100"


async def test_only_the_whole_answer_is_left(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """It is the message that was begun."""
    slack.add_user()
    gemini.say(HALF, end="stalled")
    async with kaiwa(tmp_path, "run", "--no-worker", **variables) as door:
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables) as first:
            assert await post_slack(door, slack, "how warm is Tokyo?", TS) == 200
            await until(lambda: slack.shown == [HALF])
            assert await first.stop(signal.SIGKILL) == -signal.SIGKILL
        gemini.say(WHOLE)
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables):
            await until(lambda: slack.shown == [WHOLE], 20)
    assert len(slack.called("chat.startStream")) == 1
    assert slack.called("chat.postMessage") + slack.called("chat.delete") == []
    [message] = [
        message
        for messages in slack.messages.values()
        for message in messages
        if message.get("bot_id")
    ]
    assert message["metadata"]["event_type"] == "kaiwa_delivery"
    assert message.get("streaming_state", "completed") == "completed"
