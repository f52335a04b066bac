"""The conversations of docs/conversations.md in Slack: signed webhooks in, and what people then
see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from bot.pipeline.services import Defaults
from bot.store import Store
from tests.docs.model import Rule
from tests.docs.pipeline import Fakes, open_pipeline
from tests.docs.slack_talk import USERS, SlackTalk
from tests.docs.transcript import Transcript, compare
from tests.fakes.slack import SlackFake, slack_fake

ASK, SUMMARISE = ("Ask Kaiwa about this", "kaiwa_ask"), ("Summarise this thread", "kaiwa_summarise")
MOVED = "The workshop moves to Friday, 14:00, in the big room. Please tell Taro."
RULES = (
    Rule(
        "Book room 3 at 18:00.",
        "Room 3 is booked for 18:00.",
        ("book_room", {"at": "18:00", "room": "Room 3"}),
    ),
    Rule(
        "18時に会議室3を予約して",
        "18時に会議室3を予約しました。",
        ("book_room", {"at": "18:00", "room": "会議室3"}),
        "わかりました。予約しません。",
    ),
    Rule(
        "Compare Tokyo and Osaka in a table.",
        "In short:\n\n| City | People | Known for |\n|---|---|---|\n"
        "| Tokyo | 14 million | sushi |\n| Osaka | 2.7 million | okonomiyaki |",
    ),
    Rule(
        "Invite Hanako and Taro",
        "Hanako and Taro are invited.",
        (
            "invite",
            {"what": "Lunch", "at": "Friday 12:00", "where": "Sushi Dai", "who": "Hanako, Taro"},
        ),
    ),
    Rule(
        "エマさんを夕食に",
        "わかりました。招待は送りません。",
        ("invite", {"what": "夕食", "at": "金曜19:00", "where": "居酒屋はな", "who": "エマさん"}),
        "わかりました。招待は送りません。",
    ),
    Rule(
        "Who has to do something?",
        "You: Hanako asks that somebody tell Taro.",
        needs="> @Hanako: The workshop moves",
    ),
    Rule(
        "このスレッドを要約して",
        "ワークショップは金曜14時、大きい部屋に変わりました。太郎さんへの連絡が残っています。",
        needs="> Hanako: The workshop moves",
    ),
    Rule(
        "Draw a cat in the rain.", "Here it is.", ("create_image", {"prompt": "A cat in the rain"})
    ),
    Rule(
        "Remember that I eat no meat.",
        "I will remember it.",
        ("remember", {"text": "Eats no meat"}),
    ),
)


@pytest.fixture
def slack() -> Iterator[SlackFake]:
    """Slack, with both in it."""
    with slack_fake() as fake:
        fake.add_user(USERS["Emma"], "Emma", "en-GB")
        fake.add_user(USERS["Hanako"], "Hanako")
        yield fake


@pytest.fixture
async def talk(store: Store, fakes: Fakes, slack: SlackFake) -> AsyncIterator[SlackTalk]:
    """People and the bot."""
    talk = SlackTalk(slack, Transcript())
    async with open_pipeline(store, fakes, talk, RULES, Defaults("en")) as talk.pipeline:
        yield talk


async def test_an_answer(talk: SlackTalk, write: bool) -> None:
    """Status, streamed answer, card, and feedback, in both languages."""
    await talk.say("What will the weather be like in Tokyo tomorrow?", in_thread=False)
    await talk.rate("positive")
    talk.name = "Hanako"
    await talk.say("大阪の明日の天気は？", in_thread=False)
    compare("slack, answer", talk.transcript, write=write)


async def test_an_approval(talk: SlackTalk, write: bool) -> None:
    """By button; the other one rejects."""
    await talk.say("Book room 3 at 18:00.", in_thread=False)
    await talk.press("approval.approve")
    talk.name = "Hanako"
    await talk.say("18時に会議室3を予約して", in_thread=False)
    await talk.press("approval.reject")
    compare("slack, approval", talk.transcript, write=write)


async def test_a_call_with_more_than_three_arguments(talk: SlackTalk, write: bool) -> None:
    """The modal shows all of it, and decides."""
    await talk.say(
        "Invite Hanako and Taro to lunch on Friday at noon at Sushi Dai.", in_thread=False
    )
    await talk.press("card.open")
    await talk.press_in_view("approval.approve")
    talk.name = "Hanako"
    await talk.say("エマさんを夕食に招待して", in_thread=False)
    await talk.press("card.open")
    await talk.press_in_view("approval.reject")
    compare("slack, modal", talk.transcript, write=write)


async def test_choices_and_a_table(talk: SlackTalk, write: bool) -> None:
    """A press stands for words."""
    await talk.say("And the weather?", in_thread=False)
    await talk.press("message.say#1")
    await talk.say("Compare Tokyo and Osaka in a table.")
    compare("slack, choices", talk.transcript, write=write)


async def test_a_picture(talk: SlackTalk, write: bool) -> None:
    """It is uploaded to the thread."""
    await talk.say("Draw a cat in the rain.", in_thread=False)
    compare("slack, picture", talk.transcript, write=write)


async def test_changed_messages(talk: SlackTalk, write: bool) -> None:
    """Deleted right after its answer."""
    talk.name = "Hanako"
    await talk.say("こんにちは", in_thread=False)
    await talk.delete()
    compare("slack, changed messages", talk.transcript, write=write)


async def test_shortcuts_of_a_message(talk: SlackTalk, write: bool) -> None:
    """A question about it, and a summary of its thread."""
    talk.name = "Hanako"
    talk.write(MOVED)
    talk.name = "Emma"
    await talk.choose(*ASK)
    await talk.submit("Who has to do something?")
    talk.name = "Hanako"
    await talk.choose(*SUMMARISE)
    compare("slack, shortcuts", talk.transcript, write=write)


async def test_the_home_tab(talk: SlackTalk, write: bool) -> None:
    """What is kept of a person, and what its buttons do."""
    await talk.say("Remember that I eat no meat.", in_thread=False)
    await talk.say("Remind me in 2 hours to call Hanako.")
    await talk.open_home()
    await talk.press_in_view("kaiwa_home_delete")
    talk.name = "Hanako"
    await talk.open_home()
    await talk.press_in_view("kaiwa_home_forget")
    compare("slack, home", talk.transcript, write=write)
