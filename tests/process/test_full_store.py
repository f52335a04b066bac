"""A store without memory: refused at the door, finished inside, and all is well again when there is
room."""

from __future__ import annotations

from threading import Event

import pytest
from redis.asyncio import Redis

from tests.bot.pipeline.full_store import TURNS, at_most, fill, lengths
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation
from tests.process.webhooks import post_line, post_to_slack
from tests.waiting import until, until_true

AS_JSON = {"Content-Type": "application/json"}
SOMEBODY_ELSE = "U" + "e" * 32


@pytest.fixture
def variables(variables: dict[str, str], valkey_url: str) -> dict[str, str]:
    """Everything on, on a store whose memory a test decides about."""
    return variables | {"REDIS_URL": valkey_url}


async def inboxes(redis: Redis) -> set[bytes]:
    """Of all conversations for which something waits."""
    return {key async for key in redis.scan_iter("kaiwa:{*:inbox:*")}


async def test_a_full_store_is_503_for_every_channel_and_lets_finish_what_is_inside(
    here: Installation,
    redis: Redis,
    gemini: GeminiFake,
    line: LineFake,
    slack: SlackFake,
) -> None:
    """What was refused left no trace and is taken in when it is sent again; the turn under way is
    answered, by push. Alert, log, metrics and ``/readyz`` name the cause; the status stays."""
    thinking = Event()
    gemini.say("Just in time", gate=thinking)
    gemini.say("And hello to you")
    here.variables |= {"ALERT_TO": f"slack:{slack_events.CHANNEL}", "LINE_PUSH": "always"}
    message = line_events.text_message("me too")
    event = line.event(place=SOMEBODY_ELSE, user=SOMEBODY_ELSE, message=message)
    to_line = line_events.webhook(event)
    to_slack = slack_events.as_json(slack_events.mention("and me", "1795298220.000100"))
    async with here.run() as running, running.browser() as http:
        assert await post_line(running, line, "hello?") == 200
        await until(lambda: bool(gemini.requests))
        assert (await http.get("/readyz")).json()["refuses"] is None
        before = await inboxes(redis)
        async with at_most(redis, 3.0):
            for _ in range(3):
                assert await running.post("/webhooks/line", *to_line) == 503
            assert await post_to_slack(running, to_slack) == 503
            to_page = await running.post("/console/talk-0001/messages", b'{"text": "hi"}', AS_JSON)
            assert to_page == 503
            assert await inboxes(redis) == before
            thinking.set()
            await until(lambda: line.texts == [["Just in time"]])
            state = await http.get("/readyz")
            assert (state.status_code, state.json()) == (
                200,
                {"ready": True, "reason": None, "refuses": "full"},
            )
            await until(
                lambda: any("I refuse new messages" in str(posted) for posted in slack.posted)
            )
        assert await running.post("/webhooks/line", *to_line) == 200
        await until(lambda: line.texts == [["Just in time"], ["And hello to you"]])
        metrics = (await http.get("/metrics")).text
        assert await running.stop() == 0
    assert len(gemini.requests) == 2
    for count in ('{cause="full",channel="line"} 3.0', '{cause="full",channel="slack"} 1.0'):
        assert f"kaiwa_webhooks_refused_total{count}" in metrics
    (refused,) = running.log("store.messages_refused")
    assert (refused["cause"], refused["count"]) == ("full", 1)
    alerts = [alert["cause"] for alert in running.log("alert.raised")]
    assert alerts.count("webhooks_refused") == 1


async def test_a_worker_makes_room_by_itself(here: Installation, redis: Redis) -> None:
    """The oldest histories are shortened, and the operator reads so in the log."""
    conversations = await fill(redis, 60)

    async def is_shortened() -> bool:
        return (await lengths(redis, conversations))[0] < TURNS

    async with (
        at_most(redis, 0.85),
        here.worker() as worker,
    ):
        await until_true(is_shortened)
        await until(lambda: bool(worker.log("store.memory_tight")))
    assert (await lengths(redis, conversations))[-1] == TURNS
