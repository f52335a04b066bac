"""What is typed is checked, kept and answered where it was typed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from bot import texts
from bot.channels import STOP, ButtonCard, Channel, Delivery, InboundEvent, Reply
from bot.channels.console.channel import Console, Reads
from bot.errors import BadInput
from bot.features.approvals.questions import Question
from bot.features.polls.poll import VOTE, Poll
from bot.live_events import (
    Answered,
    AnswerText,
    CardClosed,
    CardShown,
    LiveEvent,
    Noticed,
)
from bot.transcript import Author, Message, Text
from tests.bot.features.approvals.asking import card_asking
from tests.bot.harness import ours
from tests.fakes.live import LocalLive
from tests.fakes.stored_files import LocalUploads

HERE = "console:conversation"


class Rig:
    """A console with everything around it in plain sight."""

    def __init__(self) -> None:
        self.live = LocalLive()
        self.accepted: list[tuple[str, InboundEvent]] = []
        self.question: Question | None = None
        self.console = Console(
            self._accept,
            self.live,
            Reads(self._past, self._cards),
            texts.load(),
            "en",
            LocalUploads(),
        )

    async def _accept(self, conversation: str, arrival: InboundEvent) -> bool:
        self.accepted.append((conversation, arrival))
        return True

    async def _past(self, conversation: str) -> list[Message]:
        return []

    async def _cards(self, conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        return [card_asking(self.question)] if self.question and conversation == HERE else []


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_what_is_said_arrives_as_a_message(rig: Rig) -> None:
    """The words, who wrote them, and where and in which language that person is."""
    before = time.time_ns() // 1_000_000
    spoken = await rig.console.say(
        HERE,
        " 明日は？\r\n雨？ ",
        message_id="message_1",
        locale="ja-JP",
        time_zone="Asia/Tokyo",
    )
    [(conversation, arrival)] = rig.accepted
    at = arrival.message.at
    assert (spoken, conversation) == ("message_1", HERE)
    assert before <= at <= time.time_ns() // 1_000_000
    sender = Author("conversation", "", "ja-JP", "Asia/Tokyo")
    assert arrival == InboundEvent(
        Message("message_1", "user", (Text("明日は？\n雨？"),), at, author=sender)
    )


@pytest.mark.parametrize(
    ("locale", "time_zone"),
    [
        ("", ""),
        ("x" * 80, "Mars/Olympus"),
        ("../../etc", "../../etc/passwd"),
        ("en_US", "/etc/localtime"),
    ],
)
async def test_places_we_do_not_know_are_left_out(rig: Rig, locale: str, time_zone: str) -> None:
    """A device may know more zones than this system: that is no reason to refuse its words."""
    await rig.console.say(HERE, "Hello", locale=locale, time_zone=time_zone)
    assert rig.accepted[0][1].message.author == Author("conversation")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "There is nothing to read in this message."),
        (" \n\u200b\t", "There is nothing to read in this message."),
        ("x" * 8001, "This message is too long: 8,000 characters are the limit."),
        ("red \x1b[31m", "This message contains control characters. Please remove them."),
        ("half \ud83d", "This message contains control characters. Please remove them."),
    ],
    ids=["empty", "invisible", "too long", "escape sequence", "no UTF-8"],
)
async def test_what_cannot_be_read_is_refused(rig: Rig, text: str, complaint: str) -> None:
    """The sender gets the reason, and nothing is kept."""
    with pytest.raises(BadInput) as refused:
        await rig.console.say(HERE, text)
    assert str(refused.value) == complaint
    assert rig.accepted == []


@pytest.mark.parametrize("text", ["x" * 8000, "👨‍👩‍👧", "a\tb\nc", "。"])
async def test_everything_else_is_taken(rig: Rig, text: str) -> None:
    """Joined emoji, tabs and the very longest message are all words."""
    await rig.console.say(HERE, text)
    assert rig.accepted[0][1].message.text == text


async def test_who_watches_sees_the_turn_and_its_end(rig: Rig) -> None:
    """The end comes after the words, however quickly it follows."""
    channel: Channel = rig.console
    reply = Reply("It is sunny.", failure="cause and fix")
    async with rig.console.watch(HERE) as events, channel.live_view(HERE, "") as watcher:
        await watcher.show(AnswerText("It is sunny."))
        await channel.deliver(HERE, Delivery("delivery_1", "turn_1", reply), ours)
        seen: list[LiveEvent] = [await anext(events), await anext(events)]
    assert seen == [
        AnswerText("It is sunny."),
        Answered("turn_1", "It is sunny.", True, "cause and fix"),
    ]
    assert rig.live.viewers == 0


LAUNCH = Question("question_1", "call_1", "launch", {"what": "a\nrocket"}, until=1_763_703_600_000)
ASKED = CardShown(
    "question_1",
    "May I run launch?",
    (("", "launch"), ("", '▸ what: "a\\nrocket"')),
    "",
    card_asking(LAUNCH).buttons,
    1_763_703_600_000,
    "call_1",
)


async def test_a_question_and_its_outcome_are_shown(rig: Rig) -> None:
    """With the arguments as they may be shown; what is said beside the turns ends none."""
    rig.question = LAUNCH
    assert await rig.console.cards(HERE, ()) == [ASKED]
    assert await rig.console.cards("console:elsewhere", ()) == []
    async with rig.console.watch(HERE) as events:
        for reply in (
            Reply("May I?", card=card_asking(LAUNCH)),
            Reply("Only the person who asked can decide this.", private=True),
            Reply("Allowed: launch.", replaces="question_1"),
        ):
            await rig.console.deliver(HERE, Delivery("d1", "t1", reply), ours)
        assert [await anext(events) for _ in range(3)] == [
            ASKED,
            Noticed("Only the person who asked can decide this."),
            CardClosed("question_1", "Allowed: launch."),
        ]


async def test_a_poll_is_shown_before_the_answer(rig: Rig) -> None:
    """The answer ends the turn for whoever watches; then it is shown again as it stands, and
    without a button once it is closed."""
    poll = Poll("poll_1", "Where?", ("Sushi", "Curry"), (1, 0), voters=1)
    shown, answer = rig.console.split(Reply("Please vote.", card=poll.card(texts.load())))
    assert (shown.card, answer) == (poll.card(texts.load()), Reply("Please vote."))
    closed = Reply(
        "", replaces="poll_1", card=replace(poll, multiple=True, is_closed=True).card(texts.load())
    )
    async with rig.console.watch(HERE) as events:
        for reply in (shown, closed):
            await rig.console.deliver(HERE, Delivery("d1", "t1", reply), ours)
        now, then = [await anext(events) for _ in range(2)]
    assert isinstance(now, CardShown)
    assert (now.rows[0], now.buttons[-1].label, now.note[:9]) == (
        ("Sushi", "1"),
        "End the poll",
        "Votes: 1.",
    )
    assert then == CardShown(
        "poll_1",
        "Where?",
        (("Sushi", "1"), ("Curry", "0")),
        "This poll is closed. People who voted: 1",
        (),
    )


async def test_a_press_is_accepted(rig: Rig) -> None:
    """Each is an event of its own, by the person who talks here, in the language of the browser."""
    await rig.console.press(HERE, VOTE, "poll_1:2", locale="ja-JP")
    await rig.console.press(HERE, STOP, "", locale="*")
    (_, vote), (_, stop) = rig.accepted
    assert (vote.event, vote.action, vote.target) == ("action", VOTE, "poll_1:2")
    assert (stop.event, stop.action, stop.target) == ("action", STOP, "")
    assert (vote.message.author, stop.message.author) == (
        Author("conversation", locale="ja-JP"),
        Author("conversation"),
    )
    assert vote.message.id != stop.message.id


async def test_what_is_said_anew_takes_the_earlier_message_back(rig: Rig) -> None:
    """First, and under an id that is the same at a second try."""
    await rig.console.say(HERE, "Tokyo?", message_id="message_2", replaces="message_1")
    back, said = (arrival for _, arrival in rig.accepted)
    assert (back.event, back.target, back.message.id) == ("unsent", "message_1", "back_message_2")
    assert (said.event, said.message.text) == ("message", "Tokyo?")
