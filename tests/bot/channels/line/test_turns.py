"""From a webhook to what people see, with the real inbox, turn and outbox between."""

from __future__ import annotations

import pytest

from bot.channels.line.inbound import courtesy_of
from bot.errors import ModelUnusable
from bot.pipeline.history import read_history
from bot.pipeline.services import Defaults
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media
from tests.bot.channels.line.pipeline import open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import (
    GROUP,
    JSON,
    USER,
    again,
    event,
    message_id,
)

JPEG = b"\xff\xd8\xff\xe0picture"


async def test_a_question_is_answered_by_its_token(store: Store, fake: LineFake) -> None:
    """Once, however often LINE delivers it."""
    question = fake.text("Hello")
    async with open_pipeline(store, fake, [Step("**Hi!**")]) as here:
        await here.receive(question)
        await here.process()
        await here.receive(again(question))
        await here.process()
    assert [(sent.call, sent.texts) for sent in fake.sent] == [("reply", ["Hi!"])]


async def test_the_newest_token_of_a_turn_is_used(store: Store, fake: LineFake) -> None:
    """Two messages are one turn; the older token may be too old."""
    first, second = (fake.text(words) for words in ("one", "two"))
    async with open_pipeline(store, fake, [Step("both")]) as here:
        await here.receive(first, second)
        await here.process()
        [request] = fake.calls("reply")
    assert request.body["replyToken"] == second["replyToken"]


@pytest.mark.long
async def test_images_sent_together_are_one_question(store: Store, fake: LineFake) -> None:
    """Fetched after the 200, and both given to the model in one turn."""
    for number in ("1", "2"):
        fake.image(number, JPEG + number.encode(), pending=1)
    events = [
        fake.event(
            message={
                "id": str(n),
                "type": "image",
                "imageSet": {"id": "E0", "index": n, "total": 2},
            }
        )
        for n in (1, 2)
    ]
    async with open_pipeline(store, fake, [Step("Two pictures.")]) as here:
        await here.receive(events[0])
        await here.receive(events[1])
        await here.process()
        [request] = here.model.requests
    seen = [
        part.data
        for message in request.messages
        for part in message.parts
        if isinstance(part, Media)
    ]
    assert seen == [JPEG + b"1", JPEG + b"2"]
    assert fake.texts == [["Two pictures."]]


@pytest.mark.parametrize("at_once", [False, True])
async def test_whoever_blocks_the_bot_and_follows_it_anew_is_greeted_again(
    store: Store, fake: LineFake, at_once: bool
) -> None:
    """On the same day, also where LINE delivers both events together, and once for each time."""
    anew = [event("unfollow"), fake.event("follow")]
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.event("follow"))
        for batch in [anew] if at_once else [[one] for one in anew]:
            await here.receive(*batch, *batch)
            await here.process()
    [[first], [again]] = fake.texts
    assert (again, "30日間保存します" in again) == (first, True)


@pytest.mark.parametrize(
    ("text", "profile", "language"),
    [
        ("/weather New York", "ja", "ja"),  # as the button of an English menu says it
        ("/天気 東京タワーの近くの天気", "en-GB", "en"),
        ("奈良の明日の天気を教えてください", "en-GB", "ja"),
    ],
)
async def test_an_apology_is_in_the_language_of_the_profile_or_of_the_words(
    store: Store, fake: LineFake, text: str, profile: str, language: str
) -> None:
    """The profile decides about commands and few letters."""
    fake.people[USER] = {"displayName": "Hanako", "language": profile}
    failed = Step(error=ModelUnusable("key_refused", "the key was refused"))
    async with open_pipeline(store, fake, [failed]) as here:
        await here.converse(fake.text(text))
    assert fake.texts == [[texts().get("apology.key_refused", language)]]


@pytest.mark.parametrize(
    ("language", "words", "condition"),
    [
        ("en", "forget me", "in a group with a mention"),
        ("ja", "忘れて", "グループではメンションを付けてください"),
    ],
)
async def test_what_the_greeting_of_a_group_invites_to_write_is_heard(
    store: Store, fake: LineFake, language: str, words: str, condition: str
) -> None:
    """With a mention, as it says."""
    async with open_pipeline(
        store, fake, [Step("ok")], defaults=Defaults(language=language)
    ) as here:
        await here.converse(fake.event("join", GROUP, None))
        assert words in fake.texts[0][0]
        assert condition in fake.texts[0][0]
        await here.converse(fake.mention("hi"))
        await here.converse(fake.text(words, GROUP))
        assert len(fake.texts) == 2
        await here.converse(fake.mention(words))
        assert await read_history(store, IN_GROUP) == []
    assert len(fake.texts) == 3


def sticker(fake: LineFake, *keywords: str) -> JSON:
    """Somebody sends a sticker."""
    described = {
        "packageId": "1",
        "stickerId": "2",
        "stickerResourceType": "STATIC",
        "keywords": list(keywords),
    }
    return fake.event(message={"id": message_id(), "type": "sticker", **described})


async def test_a_sticker_that_says_thanks_needs_no_model(store: Store, fake: LineFake) -> None:
    """The answer is in the language of the profile, and both are in the history."""
    async with open_pipeline(store, fake, [Step("Sunny, 20 degrees.")]) as here:
        await here.receive(fake.text("How is the weather in Nara today?"))
        await here.process()
        await here.receive(sticker(fake, "cony", "thanks", "happy"))
        await here.process()
        assert len(here.model.requests) == 1
        history = await read_history(store, IN_PRIVATE)
    assert fake.texts == [["Sunny, 20 degrees."], ["どういたしまして😊"]]
    assert [message.text for message in history][2:] == [
        "[sticker: cony, thanks, happy]",
        "どういたしまして😊",
    ]


async def test_a_sticker_that_answers_a_question_is_for_the_model(
    store: Store, fake: LineFake
) -> None:
    """So is one with words beside it, and one that says nothing of the kind."""
    steps = [Step("Shall I look it up?"), Step("Sunny."), Step("Pretty."), Step("Yes.")]
    async with open_pipeline(store, fake, steps) as here:
        await here.receive(fake.text("How is the weather in Nara today?"))
        await here.process()
        for spoken in ([sticker(fake, "OK")], [sticker(fake, "flower")]):
            await here.receive(*spoken)
            await here.process()
        await here.receive(sticker(fake, "thanks"), fake.text("and in Kobe?"))
        await here.process()
    assert [texts for [texts] in fake.texts] == ["Shall I look it up?", "Sunny.", "Pretty.", "Yes."]


@pytest.mark.parametrize(
    ("keywords", "courtesy"),
    [
        (["Hello", "hi", "thanks"], "hello"),
        (["Good Night", "moon"], "night"),
        (["bye", "what"], ""),
        (["cony"], ""),
        ([], ""),
    ],
)
def test_most_keywords_decide_what_a_sticker_says(keywords: list[str], courtesy: str) -> None:
    """One that may ask for something says no courtesy."""
    assert courtesy_of(keywords) == courtesy


@pytest.mark.parametrize("command", ["/reset", "/forget me"])
async def test_nobody_cancels_the_question_of_another_person(
    store: Store, fake: LineFake, command: str
) -> None:
    """It came first, so it is answered first."""
    question = fake.mention("Weather?")
    wish = fake.mention(command, user=f"U{'3' * 32}")
    async with open_pipeline(store, fake, [Step("Sunny.")]) as here:
        await here.receive(question, wish)
        await here.process()
    assert [sent.texts[0].partition(":")[0] for sent in fake.sent] == ["Sunny.", "Done"]
