"""A process that dies while it shows an answer in Slack leaves a message; the next one leaves only the whole answer."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.process.webhooks import post_slack, post_slack_direct
from tests.waiting import until

HALF = "It is 21 °C in Tokyo, the sun is out, and if nothing unforeseen comes from the sea it will stay"
WHOLE = "It is 21 °C in Tokyo."
TS = "1795298220.000100"


async def test_half_an_answer_becomes_the_whole_one(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """In the very message that has been begun: there is no second one."""
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
    assert (len(slack.called("chat.startStream")), slack.posted) == (1, [])
    (message,) = [message for messages in slack.messages.values() for message in messages if message.get("bot_id")]
    assert (message["thread_ts"], message["streaming_state"]) == (TS, "completed")
    assert message["metadata"]["event_type"] == "kaiwa_delivery"


async def test_half_a_draft_gives_way_to_the_whole_answer(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """In a 1:1 the dead process might only be slow, and change its message later: the answer is another one."""
    slack.add_user()
    gemini.say(HALF, end="stalled")
    async with kaiwa(tmp_path, "run", "--no-worker", **variables) as door:
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables) as first:
            assert await post_slack_direct(door, slack, "how warm is Tokyo?", TS) == 200
            await until(lambda: slack.shown == [f"{HALF} …"])
            assert await first.stop(signal.SIGKILL) == -signal.SIGKILL
        gemini.say(WHOLE)
        async with kaiwa(tmp_path, "worker", ready=WORKING, **variables):
            await until(lambda: slack.shown == [WHOLE], 20)
    assert len(slack.called("chat.delete")) == 1
