"""A poll in Slack across processes: started in one, voted on and closed in the next."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.gemini import GeminiFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, as_interaction, press, signed
from tests.process.kaiwa_process import kaiwa
from tests.process.webhooks import post_slack
from tests.waiting import until

TS = "1795298220.000100"
FOOD = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}


async def test_a_poll_goes_on_after_a_restart(
    tmp_path: Path, variables: dict[str, str], gemini: GeminiFake, slack: SlackFake
) -> None:
    """A vote is kept before it is acknowledged, and is shown without a turn."""
    slack.add_user()
    gemini.call("start_poll", FOOD)
    gemini.say("Please vote.")
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await post_slack(running, slack, "a poll, please", TS) == 200
        await until(lambda: "[Sushi] [Curry] [Close]" in "".join(slack.shown), 20)
        (poll,) = (
            one
            for one in slack.messages[CHANNEL]
            if one.get("blocks", [{}])[-1].get("type") == "actions"
        )
        vote = as_interaction(press(poll, "kaiwa_vote_2"))
        for _ in range(2):
            assert await running.post("/webhooks/slack", vote, signed(vote)) == 200
    close = as_interaction(press(poll, "kaiwa_vote_0"))
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await running.post("/webhooks/slack", close, signed(close)) == 200
        await until(
            lambda: slack.shown[-1].endswith("This poll is closed. People who voted: 1"), 20
        )
    assert slack.shown[-1].startswith("Where do we eat?\nSushi: 0\nCurry: 1\n")
    assert len(gemini.requests) == 2
