"""kill -9 while an answer in LINE is late, and while it is fetched: it comes once, and nobody is
left waiting."""

from __future__ import annotations

from tests.fakes.gemini import GeminiFake
from tests.fakes.line import LineFake
from tests.fakes.line_events import JSON
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.webhooks import post_line_event
from tests.waiting import until

BUTTON = "Show the answer"
LATE_S = 46.0
SENT = "There is no answer waiting"


def redelivered(line: LineFake, text: str) -> JSON:
    """A message that LINE brings 46 seconds after its first try, with the token of that time."""
    event = line.event(message={"id": "1", "type": "text", "text": text})
    line.expire(event["replyToken"], LATE_S)
    return event | {
        "timestamp": event["timestamp"] - round(LATE_S * 1000),
        "deliveryContext": {"isRedelivery": True},
    }


async def receive(running: KaiwaProcess, event: JSON) -> None:
    assert await post_line_event(running, event) == 200


async def test_a_late_answer_survives_kill_9_at_every_stage(
    here: Installation, gemini: GeminiFake, line: LineFake
) -> None:
    """After the button, after the answer is kept, and after LINE has taken it without saying so;
    LINE_PUSH=never."""
    here.variables |= {"LINE_PUSH": "never"}
    async with here.run() as killed:
        gemini.stall()
        await receive(killed, redelivered(line, "Hello, who are you?"))
        await until(lambda: len(line.sent) == 1 and bool(gemini.requests))
        await receive(killed, line.press(BUTTON))
        await until(lambda: len(line.sent) == 2)
        await killed.kill()
    gemini.say("Hi!")
    async with here.run() as killed:
        await until(lambda: bool(killed.log("delivery.kept")))
        await killed.kill()
    async with here.run() as killed:
        line.trouble("reply", "stalled")
        await receive(killed, line.press(BUTTON))
        await until(lambda: len(line.sent) == 3)
        await killed.kill()
    async with here.run() as running:
        await running.idle(seconds=30)
        await receive(running, line.press(BUTTON))
        await until(lambda: len(line.sent) == 4)
    still = "I am still working on your question."
    assert [texts[0].split("\n")[0][: len(SENT)] for texts in line.texts] == [
        still[: len(SENT)]
    ] * 2 + ["Hi!", SENT]
    assert line.calls("push") == []
