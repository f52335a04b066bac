"""The conversations of docs/conversations.md in LINE: signed webhooks in, and what people then
see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module

import pytest

from bot.pipeline.services import Defaults
from bot.providers import MediaSupport
from bot.store import Store
from tests.bot.channels.line.pipeline import LinePipeline
from tests.bot.channels.line.pipeline import open_pipeline as open_line
from tests.bot.channels.line.slow_turns import held_step
from tests.bot.features.late_answers.late_turns import (
    late_turn,
)
from tests.docs.line_talk import USERS, LineTalk, note
from tests.docs.model import FILES, Rule
from tests.docs.pipeline import Fakes, open_pipeline
from tests.docs.transcript import Transcript, compare
from tests.fakes.line import LineFake, line_fake
from tests.fakes.line_events import BOT, text_message
from tests.toolset.images.pictures import picture
from tests.toolset.webpage.documents import pdf

import_module(
    "linebot.v3.messaging"
)  # on a busy machine its import takes longer than a name is waited for

LATE_TALKS = (
    ("Hanako", "京都の歴史を調べて", "京都は794年に都となりました。", "回答を見る"),
    (
        "Emma",
        "Look into the history of Kyoto.",
        "Kyoto became the capital in 794.",
        "Show the answer",
    ),
)
PHOTO = picture(32, 32, "JPEG")
PAINTING = (
    Rule("水彩画にして", "どうぞ。", ("create_image", {"prompt": "水彩画にして", "change": True})),
    Rule("", "かわいい犬ですね。", needs=PHOTO),
)
BOOKING = (
    Rule(
        "18時に会議室3を予約して",
        "18時に会議室3を予約しました。",
        ("book_room", {"at": "18:00", "room": "会議室3"}),
    ),
    Rule(
        "Book room 3 at 18:00.",
        "",
        ("book_room", {"at": "18:00", "room": "Room 3"}),
        "All right, nothing is booked.",
    ),
)
TABLE = (
    Rule(
        "東京と大阪を表で比べて",
        "短くまとめると：\n\n| 都市 | 人口 | 名物 |\n|---|---|---|\n"
        "| 東京 | 1400万人 | 寿司 |\n| 大阪 | 270万人 | お好み焼き |",
    ),
)
JPEG, VOICE, PDF = (
    b"\xff\xd8\xff\xe0 a menu",
    b"recorded words",
    pdf("Welcome at ten, lunch at noon."),
)
RECORDED = {"contentProvider": {"type": "line"}, "duration": 4_000}
IN_GROUP = (
    Rule(
        "どこがいいと思う？",
        "お肉が苦手なエマさんもいるので、「はな」のお好み焼きはいかがですか。",
        needs='Emma: "I eat no meat."',
    ),
    Rule(
        "Is it far?", "Hana is five minutes from the station.", needs="This quotes your own answer"
    ),
    Rule("この写真、何て書いてある？", "お好み焼きは900円、焼きそばは800円です。", needs=JPEG),
)
INTERPRETER = (
    Rule("Shall we meet at nine?", "9時に集まりませんか。", needs="<message>"),
    Rule("10時のほうがいいです", "Ten would suit me better.", needs="<message>"),
)
OF_FILES = (
    Rule("", "牛乳と卵を買ってきてほしい、とのことですね。", needs=VOICE),
    Rule("When is lunch?", "At noon.", needs=b"lunch at noon"),
    Rule(
        "",
        "This is the plan of a day that starts at ten. What would you like to know?",
        needs=b"lunch at noon",
    ),
)


@pytest.fixture
def line() -> Iterator[LineFake]:
    """LINE, with three people in it."""
    with line_fake() as fake:
        fake.people[USERS["Emma"]] = {"displayName": "Emma", "language": "en"}
        fake.people[USERS["Taro"]] = {"displayName": "Taro", "language": "ja"}
        yield fake


OpenTalk = Callable[..., AbstractAsyncContextManager[LineTalk]]


@pytest.fixture
def open_talk(store: Store, fakes: Fakes, line: LineFake) -> OpenTalk:
    """People and the bot, with rules for its model."""

    @asynccontextmanager
    async def talk(
        rules: Sequence[Rule] = (), *, group_memory: str = "off", media: MediaSupport = FILES
    ) -> AsyncIterator[LineTalk]:
        here, group = LineTalk(line, Transcript()), {"group_memory": group_memory}
        pipeline = open_pipeline(store, fakes, here, rules, Defaults("ja"), media, **group)
        async with pipeline as here.pipeline:
            yield here

    return talk


async def test_a_new_friend(open_talk: OpenTalk, write: bool) -> None:
    """Greeting with quick replies, loading animation, and a card."""
    async with open_talk() as talk:
        await talk.follow()
        await talk.press("東京の天気")
        compare("line, friend", talk.transcript, write=write)


async def test_an_approval(open_talk: OpenTalk, write: bool) -> None:
    """By button, in both languages."""
    async with open_talk(BOOKING) as talk:
        await talk.say("18時に会議室3を予約して")
        await talk.press("はい")
        talk.name = "Emma"
        await talk.say("Book room 3 at 18:00.")
        await talk.press("No")
        compare("line, approval", talk.transcript, write=write)


async def test_choices_and_a_table(open_talk: OpenTalk, write: bool) -> None:
    """A press stands for words."""
    async with open_talk(TABLE) as talk:
        talk.name = "Emma"
        await talk.say("How is the weather?")
        await talk.press("Tokyo")
        talk.name = "Hanako"
        await talk.say("東京と大阪を表で比べて")
        compare("line, choices", talk.transcript, write=write)


async def test_voice_messages_and_files(open_talk: OpenTalk, write: bool) -> None:
    """Heard and read by a model that can."""
    async with open_talk(OF_FILES) as talk:
        await talk.show("audio", "voice message, 4 seconds", VOICE, "audio/x-m4a", **RECORDED)
        talk.name = "Emma"
        described = {"fileName": "plan.pdf", "fileSize": len(PDF)}
        await talk.show("file", "file: plan.pdf", PDF, "application/pdf", **described)
        await talk.say("When is lunch?")
        compare("line, files", talk.transcript, write=write)


async def test_a_model_that_cannot_listen(open_talk: OpenTalk, write: bool) -> None:
    """It is not asked; a sentence says so."""
    async with open_talk(media=MediaSupport(frozenset(("image",)))) as talk:
        await talk.show("audio", "voice message, 4 seconds", VOICE, "audio/x-m4a", **RECORDED)
        talk.name = "Emma"
        await talk.show("audio", "voice message, 4 seconds", VOICE, "audio/x-m4a", **RECORDED)
        compare("line, not heard", talk.transcript, write=write)


async def test_a_picture(open_talk: OpenTalk, write: bool) -> None:
    """A photo, and the same as a painting."""
    async with open_talk(PAINTING) as talk:
        await talk.show("image", "picture", PHOTO, "image/jpeg", contentProvider={"type": "line"})
        await talk.say("水彩画にして")
        compare("line, picture", talk.transcript, write=write)


async def test_a_message_taken_back(open_talk: OpenTalk, write: bool) -> None:
    """While the bot answers: nothing comes."""
    async with open_talk() as talk:
        await talk.say("東京の明日の天気は？", unsent=True)
        await talk.say("大阪の明日の天気は？")
        compare("line, taken back", talk.transcript, write=write)


async def test_a_group(open_talk: OpenTalk, write: bool) -> None:
    """GROUP_MEMORY, a quotation of the bot, and a picture sent before the mention."""
    async with open_talk(IN_GROUP, group_memory="on") as talk:
        await talk.join()
        talk.in_group, talk.name = True, "Taro"
        await talk.say("今夜、焼肉かお好み焼きに行かない？")
        talk.name = "Emma"
        await talk.say("I eat no meat.")
        talk.name = "Hanako"
        await talk.say("どこがいいと思う？", mention=True)
        talk.name = "Emma"
        await talk.say("Is it far?", quoting=talk.answer_id)
        talk.name = "Taro"
        await talk.show("image", "picture", JPEG, "image/jpeg", contentProvider={"type": "line"})
        talk.name = "Hanako"
        await talk.say("この写真、何て書いてある？", mention=True)
        compare("line, group", talk.transcript, write=write)


async def test_the_interpreter(open_talk: OpenTalk, write: bool) -> None:
    """Switched on and off in either language."""
    async with open_talk(INTERPRETER) as talk:
        talk.in_group, talk.name = True, "Emma"
        await talk.say("/interpret en ja", mention=True)
        await talk.say("Shall we meet at nine?")
        talk.name = "Hanako"
        await talk.say("10時のほうがいいです")
        await talk.say("通訳終了", mention=True)
        await talk.say("ありがとうございました")
        compare("line, interpreter", talk.transcript, write=write)


async def test_a_late_answer(store: Store, line: LineFake, write: bool) -> None:
    """The button after 45 seconds, pressed early, pressed later, and once more, in both
    languages."""
    transcript = Transcript()
    for name, words, answer, label in LATE_TALKS:
        user = USERS[name]
        step = held_step(answer)
        asked = line.event("message", user, user, message=text_message(words))
        async with open_line(store, line, [step], line_push="never") as here:

            async def press(
                here: LinePipeline = here, name: str = name, user: str = user, label: str = label
            ) -> None:
                transcript.happened(f"{name} presses {label}")
                await here.converse(line.press(label, user))
                note(transcript, line.sent[-1], {})

            transcript.add_words(name, words)
            async with late_turn(here, step, asked, f"line:{BOT}:user:{user}"):
                transcript.happened("45 seconds later")
                note(transcript, line.sent[-1], {})
                await press()
            await press()
            await press()
    compare("line, late", transcript, write=write)
