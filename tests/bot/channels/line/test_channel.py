"""The channel as a whole: the form of its answers, and what it costs to have it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.channels import Delivery, Reply
from bot.channels.line import describe
from bot.features.approvals.questions import Question
from bot.features.polls.poll import Poll
from tests.bot.channels.line.rig import UNREACHABLE, Rig, line_config, open_rig
from tests.bot.features.approvals.asking import card_asking
from tests.bot.harness import ours, texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, ROOM, USER
from tests.project import ROOT, environment

PARAGRAPH = "All work and no play makes Jack a dull boy. " * 90


async def test_every_message_has_the_name_and_the_icon_that_are_set(fake: LineFake) -> None:
    """Texts, cards and questions alike; LINE shows the account's own without them."""
    question = Question("question_1", "c1", "launch", {}, "Hanako", USER)
    poll = Poll("poll_1", "Where?", ("Sushi", "Ramen"), (0, 0))
    async with open_rig(
        fake, line_sender_name="Hana", line_sender_icon_url="https://bot.example/icon.png"
    ) as rig:
        for reply in (
            Reply("Hello"),
            Reply("May I?", card=card_asking(question)),
            Reply("Vote", card=poll.card(texts())),
        ):
            await rig.say(reply, rig.address(fake.token()))
    sent = [message["sender"] for one in fake.sent for message in one.messages]
    assert sent == [{"name": "Hana", "iconUrl": "https://bot.example/icon.png"}] * 5


@pytest.mark.parametrize("recipient", [USER, GROUP, ROOM])
async def test_a_notice_is_pushed_to_whoever_has_said_nothing(
    fake: LineFake, rig: Rig, recipient: str
) -> None:
    """A person, a group or a room, by the id alone."""
    notice = Delivery("notice_1", "notice_1", Reply("Look!"), attempts=1)
    await rig.line.deliver(f"line:notices:{recipient}", notice, ours)
    assert [(sent.call, sent.to) for sent in fake.sent] == [("push", recipient)]
    assert fake.texts == [["Look!"]]


KNOWN = """
import asyncio, sys
from bot.channels.line.doctor import run_checks
from tests.bot.channels.line.rig import IN_PRIVATE, line_config, open_rig
from tests.fakes.line import line_fake
from tests.fakes.line_events import USER, text_message

async def main():
    with line_fake() as fake:
        async with open_rig(fake) as rig:
            await rig.notes.set(f"profile:line:{USER}", b'{"name": "Hanako"}', 60)
            arrivals = await rig.receive(fake.event(message=text_message("Hello")))
            [known] = await rig.line.enrich(IN_PRIVATE, arrivals, is_new=True)
            async with rig.line.live_view(IN_PRIVATE, known.address):
                pass
            await rig.deliver("Hello!", rig.address(fake.token()))
            print(known.message.author.name, fake.texts, "linebot" in sys.modules)
            await run_checks(line_config(fake.base_url), rig.notes)
            print("linebot" in sys.modules)

asyncio.run(main())
"""


@pytest.mark.process
def test_the_sdk_is_not_loaded_for_people_who_are_known() -> None:
    """It takes a second and tens of megabytes; the doctor needs it."""
    done = subprocess.run(
        [sys.executable, "-c", KNOWN],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Hanako [['Hello!']] False\nTrue\n"


@pytest.mark.parametrize(
    ("push", "words"),
    [
        ("auto", "late answers are pushed while the month's quota lasts, then fetched by a button"),
        ("always", "all answers are pushed while the month's quota lasts"),
        ("never", "late answers are fetched by a button"),
    ],
)
def test_the_report_says_how_late_answers_come(push: str, words: str) -> None:
    """In the line of the channel, with the variable that decides it."""
    detail = describe(line_config(UNREACHABLE, line_push=push), "").detail
    assert detail == f"answers everybody at /webhooks/line; {words} (LINE_PUSH={push})"
