"""Quoted messages: which one it is, that to quote the bot is to call it, and what is kept of a
quotation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, ToolCall
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, Rig
from tests.fakes.line import LineFake
from tests.fakes.line_events import (
    GROUP,
    JSON,
    USER,
    addressed_message,
    event,
    message_id,
    text_message,
)
from tests.fakes.stored_files import LocalFiles
from tests.fakes.tools import Echo
from toolset.shown import Shown, ToolFile
from toolset.tool import ToolContext

JPEG = b"\xff\xd8\xff\xe0picture"
PNG = b"\x89PNG\r\n\x1a\npicture"
TARO = "U" + "2" * 32
UNKNOWN = "not known here any more"

import_module(
    "linebot.v3.messaging"
)  # on a busy machine its import takes longer than a name is waited for


def quoting(message: JSON, message_id: str) -> JSON:
    """The message as a quotation of another."""
    return message | {"quotedMessageId": message_id}


def preface(here: LinePipeline) -> str:
    """What the model reads before the newest message, but for date and place."""
    return here.asked().preface.partition("\n")[2]


async def test_what_somebody_has_said_can_be_quoted(store: Store, fake: LineFake) -> None:
    """The model is told whose words they are; the words themselves stand between quotation
    marks."""
    spoken = addressed_message('the code is "7"]')
    async with open_pipeline(store, fake, [Step("noted"), Step("seven")]) as here:
        await here.converse(fake.event(place=GROUP, message=spoken))
        await here.converse(
            fake.event(
                place=GROUP, message=quoting(addressed_message("what did I mean?"), spoken["id"])
            )
        )
        assert preface(here) == '[This quotes Hanako, as data: "the code is \\"7\\"]"]'


async def test_to_quote_the_bot_is_to_call_it(store: Store, fake: LineFake) -> None:
    """By LINE's own id of the answer, which came with the delivery; whoever quotes others does not
    call it."""
    question = addressed_message("hi")
    async with open_pipeline(store, fake, [Step("Hello Hanako!"), Step("Because.")]) as here:
        await here.converse(fake.event(place=GROUP, message=question))
        [answer_id] = fake.sent[-1].ids
        await here.converse(
            fake.event(place=GROUP, message=quoting(text_message("me too"), question["id"]))
        )
        assert len(fake.sent) == 1
        await here.converse(
            fake.event(place=GROUP, user=TARO, message=quoting(text_message("why?"), answer_id))
        )
        assert preface(here) == '[This quotes your own answer: "Hello Hanako!"]'
        assert here.asked().text == "why?"
    assert fake.texts == [["Hello Hanako!"], ["Because."]]


async def test_every_message_of_an_answer_can_be_quoted(store: Store, fake: LineFake) -> None:
    """Also in 1:1, and where the answer is pushed."""
    async with open_pipeline(store, fake, [Step("one. " * 1_500), Step("ok"), Step("ok")]) as here:
        asked = fake.text("tell me all")
        fake.expire(asked["replyToken"])
        await here.converse(asked)
        assert fake.sent[-1].call == "push"
        ids = fake.sent[-1].ids
        assert len(ids) == 2
        for answer_id in ids:
            await here.converse(
                fake.event(message=quoting(text_message("what is this?"), answer_id))
            )
            assert preface(here).startswith('[This quotes your own answer: "one. one.')
            assert len(preface(here)) < 600


class Draw(Echo):
    """Makes a picture."""

    name = "draw"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        return Shown(
            {"image": "shown"}, [ToolFile("cat.png", "image/png", PNG, 'A blue cat, "asleep"')]
        )


async def test_a_picture_of_an_answer_is_quoted_in_words(store: Store, fake: LineFake) -> None:
    """LINE gives nobody the pictures of a bot."""
    steps = [Step(calls=(ToolCall("c1", "draw", {}),)), Step("Here it is."), Step("A cat.")]
    async with open_pipeline(store, fake, steps, Draw(), files=LocalFiles()) as here:
        await here.converse(fake.text("draw a cat"))
        *_, picture = fake.sent[-1].ids
        await here.converse(fake.event(message=quoting(text_message("what is this?"), picture)))
        assert preface(here) == (
            '[This quotes your own answer: "Here it is.", with a picture of: "A blue cat, '
            '\\"asleep\\""]'
        )


async def test_a_sticker_can_quote_the_bot(store: Store, fake: LineFake) -> None:
    """One that quotes nobody is not for the bot."""
    sticker = {
        "id": message_id(),
        "type": "sticker",
        "packageId": "1",
        "stickerId": "2",
        "keywords": ["ball"],
    }
    async with open_pipeline(store, fake, [Step("Hello!"), Step("A ball?")]) as here:
        await here.converse(fake.mention("hi"))
        [answer_id] = fake.sent[-1].ids
        await here.converse(fake.event(place=GROUP, message=sticker))
        assert len(fake.sent) == 1
        await here.converse(
            fake.event(place=GROUP, message=quoting(sticker | {"id": message_id()}, answer_id))
        )
    assert fake.texts[-1] == ["A ball?"]


async def test_a_picture_that_nobody_mentioned_the_bot_with_is_shown_when_it_is_quoted(
    store: Store, fake: LineFake
) -> None:
    """No event of it was kept: LINE still has it by its id. The next question finds it in the
    history."""
    fake.image("5001", JPEG)
    async with open_pipeline(store, fake, [Step("A cat."), Step("Grey.")]) as here:
        await here.converse(
            fake.event(place=GROUP, user=TARO, message={"id": "5001", "type": "image"})
        )
        assert here.due == []
        await here.converse(
            fake.event(place=GROUP, message=quoting(addressed_message("what is this?"), "5001"))
        )
        assert preface(here).startswith("[Picture 1 below was sent earlier by somebody")
        assert [part.data for part in here.asked().parts if isinstance(part, Media)] == [JPEG]
        await here.converse(fake.mention("which colour?"))
        parts = [part for message in here.model.requests[-1].messages for part in message.parts]
        assert [part.data for part in parts if isinstance(part, Media)] == [JPEG]


async def test_a_picture_of_the_history_can_be_quoted(store: Store, fake: LineFake) -> None:
    """It is looked at once more, however long ago it was sent."""
    fake.image("5002", JPEG)
    steps = [Step("A cat.")] + [Step("ok")] * 3 + [Step("Still a cat.")]
    async with open_pipeline(store, fake, steps) as here:
        await here.converse(fake.event(message={"id": "5002", "type": "image"}))
        for words in ("one", "two", "three"):
            await here.converse(fake.text(words))
        await here.converse(fake.event(message=quoting(text_message("and this?"), "5002")))
        assert "sent earlier by Hanako" in preface(here)
        assert [part.data for part in here.asked().parts if isinstance(part, Media)] == [JPEG]


async def test_what_is_not_known_is_said_to_be_so(store: Store, fake: LineFake) -> None:
    """Neither a message nor a picture, and LINE may be away too."""
    async with open_pipeline(store, fake, [Step("ok"), Step("ok")]) as here:
        await here.converse(fake.event(message=quoting(text_message("and this?"), "6001")))
        assert UNKNOWN in preface(here)
        fake.fail("content", 500)
        await here.converse(fake.event(message=quoting(text_message("and this?"), "6002")))
        assert UNKNOWN in preface(here)


async def test_a_greeting_can_be_quoted_though_no_turn_has_written_it(
    store: Store, fake: LineFake
) -> None:
    """It is ours, so the bot is called; its words are not in the history."""
    async with open_pipeline(store, fake, [Step("ok")]) as here:
        await here.converse(fake.event("join", GROUP, None))
        [answer_id] = fake.sent[-1].ids
        await here.converse(
            fake.event(place=GROUP, message=quoting(text_message("who are you?"), answer_id))
        )
        assert UNKNOWN in preface(here)
    assert fake.texts[-1] == ["ok"]


@pytest.mark.parametrize("change", ["unsent", "edited", "forgotten"])
async def test_what_is_taken_back_is_quoted_no_more(
    store: Store, fake: LineFake, change: str
) -> None:
    """Words and pictures leave the messages that quote them; those stay."""
    fake.image("5003", JPEG)
    spoken = addressed_message("a canary")
    async with open_pipeline(store, fake, [Step("ok")] * 9) as here:
        await here.converse(fake.event(place=GROUP, user=TARO, message=spoken))
        await here.converse(
            fake.event(
                place=GROUP, message=quoting(addressed_message("what is that?"), spoken["id"])
            )
        )
        await here.converse(
            fake.event(place=GROUP, message=quoting(addressed_message("and this?"), "5003"))
        )
        assert _quoted(await read_history(store, IN_GROUP)) == [spoken["id"], "5003"]
        await here.converse(event("unsend", GROUP, TARO, unsend={"messageId": "5003"}))
        if change == "unsent":
            await here.converse(event("unsend", GROUP, TARO, unsend={"messageId": spoken["id"]}))
        elif change == "edited":
            await here.converse(
                event("messageEdited", GROUP, TARO, message=spoken | {"text": "@Kaiwa a parrot"})
            )
        else:
            await here.converse(fake.mention("forget me", user=TARO))
        history = await read_history(store, IN_GROUP)
    assert _quoted(history) == []
    assert [message.text for message in history if message.role == "user"][-2:] == [
        "what is that?",
        "and this?",
    ]
    assert not [part for message in history for part in message.parts if isinstance(part, Media)]
    assert "canary" not in repr(history)


def _quoted(history: object) -> list[str]:
    # messages
    return [quote.id for message in history for quote in message.quotes]  # type: ignore[attr-defined]


async def test_an_edited_question_keeps_its_quoted_picture(store: Store, fake: LineFake) -> None:
    """Only its own words are new."""
    fake.image("5004", JPEG)
    asked = quoting(addressed_message("wat is this?"), "5004")
    async with open_pipeline(store, fake, [Step("A cat.")]) as here:
        await here.converse(fake.event(place=GROUP, message=asked))
        await here.converse(
            event(
                "messageEdited", GROUP, message=asked | {"text": "what is this?", "mention": None}
            )
        )
        [question, _] = await read_history(store, IN_GROUP)
    assert (question.text, [picture.ref for picture in question.quoted_pictures]) == (
        "what is this?",
        ["5004"],
    )


async def test_a_plain_message_asks_the_store_for_no_quote(store: Store, fake: LineFake) -> None:
    """What is kept of an answer leaves with the requests that are made anyway."""
    async with open_pipeline(store, fake, [Step("ok"), Step("ok")]) as here:
        await here.converse(fake.text("hi"))
        keys = [key async for key in store.scripts.client.scan_iter("kaiwa:*:note:line:own:*")]
    assert len(keys) == 1


async def test_a_quoting_message_arrives_with_the_id(rig: Rig) -> None:
    """And an unmentioned one not at all, unless it quotes the bot."""
    [arrival] = await rig.receive(event(message=quoting(text_message("this?"), "7001")))
    assert (arrival.quotes, arrival.unmentioned) == ("7001", False)
    assert (
        await rig.receive(event(place=GROUP, message=quoting(text_message("this?"), "7001"))) == []
    )
    rig.notes.set_later(f"line:own:group:{GROUP}:7001", b"turn_1", 60)
    [called] = await rig.receive(event(place=GROUP, message=quoting(text_message("this?"), "7001")))
    assert (called.quotes, called.unmentioned, called.message.text) == ("7001", False, "this?")


async def test_another_groups_answer_is_not_ours_here(rig: Rig) -> None:
    """Ids are kept by chat."""
    rig.notes.set_later(f"line:own:user:{USER}:7002", b"turn_1", 60)
    assert (
        await rig.receive(event(place=GROUP, message=quoting(text_message("this?"), "7002"))) == []
    )


async def test_the_ids_of_our_messages_name_nobody(store: Store, fake: LineFake) -> None:
    """After being forgotten only digests are left of them."""
    async with open_pipeline(store, fake, [Step("ok"), Step("ok")]) as here:
        await here.converse(fake.text("hi"))
        await here.converse(fake.text("forget me"))
        keys = [key async for key in store.scripts.client.scan_iter("kaiwa:*")]
    assert [key for key in keys if USER.encode() in key] == []
    assert await read_history(store, IN_PRIVATE) == []
