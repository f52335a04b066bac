"""What a place may spend in a day, on two processes that share it."""

from __future__ import annotations

import asyncio
import re

from tests.fakes.gemini import GeminiFake
from tests.fakes.gemini_answers import said
from tests.fakes.line import LineFake
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL
from tests.process.kaiwa_process import Installation, KaiwaProcess
from tests.process.webhooks import post_line
from tests.waiting import until

TURN = 231  # millionths of a dollar: 60 tokens, 40 cached ones and 15 of output of gemini-3.5-flash
DOLLARS = 0.01
SPENT = "What I may spend here in a day is used up."
PEOPLE = [f"U{number:032x}" for number in range(1, 9)]


async def round_of(doors: list[KaiwaProcess], line: LineFake) -> None:
    """Everybody writes once, half of them to each process, and is answered."""
    before = len(line.sent)
    sending = (
        post_line(doors[number % 2], line, "Hello", user) for number, user in enumerate(PEOPLE)
    )
    assert await asyncio.gather(*sending) == [200] * len(PEOPLE)
    await until(lambda: len(line.sent) == before + len(PEOPLE))


async def test_the_operator_is_told_of_dollars_three_times(
    here: Installation, gemini: GeminiFake, line: LineFake, slack: SlackFake, redis_url: str
) -> None:
    """At 75, 95 and 100 % of many small turns, also by a process that is killed and started again;
    then the sentence is the answer there, and other places go on."""
    gemini.always = lambda _asked: said("Hello.")
    text = f'[[place]]\nplatform = "line"\ndollars = {DOLLARS}\n'
    (here.folder / "places.toml").write_text(text)
    here.variables |= {
        "REDIS_URL": redis_url,
        "PLACES": "places.toml",
        "ALERT_TO": f"slack:{CHANNEL}",
    }
    async with here.run() as door:
        async with here.run() as killed:
            while TURN * len(line.sent) < 0.8e6 * DOLLARS:
                await round_of([door, killed], line)
            await until(lambda: len(slack.posted) == 1)
            await killed.kill()
        async with here.run() as started:
            for _ in range(4):
                await round_of([door, started], line)
            await started.say("conversation-1", "Hello")
            assert await started.answers("conversation-1", 1) == ["Hello."]
            for running in (door, started):
                await running.idle(seconds=30)
    told = [str(one["markdown_text"]) for one in slack.posted]
    shares = [re.match(r"(75 %|95 %|What a place may spend today) ", text) for text in told]
    # Each once; of two processes the one that met a higher share may tell it first.
    assert sorted(share[1] if share else "" for share in shares) == [
        "75 %",
        "95 %",
        "What a place may spend today",
    ]
    assert all(f"places.toml:3: 0.01 USD / {DOLLARS} USD" in text for text in told)
    answers = [" ".join(texts) for texts in line.texts]
    paid = answers.count("Hello.")
    assert 1e6 * DOLLARS <= TURN * paid < 1e6 * DOLLARS + TURN * len(PEOPLE)
    assert all(text.startswith(SPENT) for text in answers if text != "Hello.")
    assert len(answers) - paid >= len(PEOPLE)
