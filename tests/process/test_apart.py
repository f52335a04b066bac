"""A web process that takes messages in and a worker that answers them: all channels, refusals, and
turns that are stopped from the other process."""

from __future__ import annotations

import httpx

from bot.channels import STOP
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.webhooks import post_line_event, post_slack
from tests.waiting import until

TALK = "conversation-1"
TS = "1795298220.000100"


async def refuses_what_is_not_signed(web: KaiwaProcess) -> None:
    """400 on LINE, 401 on Slack; signed nonsense is 400, too much is 413."""
    too_much = line_events.signed(b"x" * (1024 * 1024 + 1))
    assert await web.post("/webhooks/line", b"{}", {"x-line-signature": "AAAA"}) == 400
    assert await web.post("/webhooks/line", b"{}", {}) == 400
    assert await web.post("/webhooks/line", *line_events.signed(b"\xff\xfe no JSON")) == 400
    assert await web.post("/webhooks/line", *too_much) == 413
    assert await web.post("/webhooks/slack", b"{}", {}) == 401
    assert await web.post("/webhooks/slack", b"{", slack_events.signed(b"{")) == 400
    stale = slack_events.signed(b"{}", at=1_000_000.0)
    assert await web.post("/webhooks/slack", b"{}", stale) == 401


async def test_every_channel_is_answered_from_another_process(
    here: Installation, gemini: GeminiFake, line: LineFake, slack: SlackFake
) -> None:
    """LINE by its reply token, once also if the webhook comes twice; Slack in the thread."""
    async with (
        here.web() as web,
        here.worker() as worker,
    ):
        await refuses_what_is_not_signed(web)
        gemini.say("**21 °C** in Tokyo")
        webhook = line_events.webhook(line.text("東京は？"))
        assert [await web.post("/webhooks/line", *webhook) for _ in range(2)] == [200, 200]
        await until(lambda: bool(line.texts))
        gemini.say("**21 °C** in Tokyo")
        assert await post_slack(web, slack, "how warm is Tokyo?", TS) == 200
        await until(lambda: bool(slack.posted))
        gemini.say("From over there")
        await web.say(TALK, "Anybody?")
        assert await web.answers(TALK, 1) == ["From over there"]
        assert len(worker.log("turn.answered")) == 3
        async with httpx.AsyncClient(base_url=web.base_url) as http:
            ready = {"ready": True, "reason": None, "refuses": None}
            assert (await http.get("/readyz")).json() == ready
            assert (await http.get("/healthz")).text == "ok\n"
        assert await worker.stop() == 0
        assert await web.stop() == 0
    assert line.texts == [["21 °C in Tokyo"]]
    assert slack.answers == ["**21 °C** in Tokyo"]
    assert slack.posted[0]["thread_ts"] == TS
    assert len(gemini.requests) == 3
    assert "東京は" not in web.output + worker.output


async def test_a_wish_to_stop_reaches_the_worker_at_once(
    here: Installation, gemini: GeminiFake, line: LineFake
) -> None:
    """By the page's button and by taking the message back in LINE: the model call ends, and the
    conversation is free."""
    question = line.text("Oops")
    unsend = line_events.event("unsend", unsend={"messageId": question["message"]["id"]})
    async with (
        here.web() as web,
        here.worker(),
    ):
        gemini.stall()
        await web.say(TALK, "tell me a story")
        await until(lambda: len(gemini.requests) == 1)
        async with web.browser() as http:
            assert (
                await http.post(f"/console/{TALK}/actions", json={"action": STOP})
            ).status_code == 202
        assert await web.answers(TALK, 1, seconds=5) == ["Stopped."]
        gemini.stall()
        assert await post_line_event(web, question) == 200
        await until(lambda: len(gemini.requests) == 2)
        assert await post_line_event(web, unsend) == 200
        await web.idle(10)
        gemini.say("Hello")
        greeting = line.text("Hi")
        assert await post_line_event(web, greeting) == 200
        await until(lambda: line.texts == [["Hello"]])
    assert len(gemini.requests) == 3
