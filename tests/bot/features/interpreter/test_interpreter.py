"""The interpreter of a group: each message is translated under it until it is switched off."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module

import pytest
from redis.asyncio import Redis

from bot.errors import ModelUnusable, TryAgain
from bot.features.interpreter.store import Languages
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Message, ToolCall, Usage
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE
from tests.bot.features.limits.budgets_harness import budgets_of
from tests.fakes.line import LineFake
from tests.fakes.line_events import (
    GROUP,
    JSON,
    USER,
    event,
    message_id,
    unsend,
)
from tests.fakes.tools import Launch
from tests.waiting import until

TARO = "U" + "2" * 32
ON = "between English and Japanese"

import_module(
    "linebot.v3.messaging"
)  # on a busy machine its import takes longer than a name is waited for


def text_event(fake: LineFake, text: str, user: str | None = TARO) -> JSON:
    """Somebody says something to the others."""
    return fake.text(text, GROUP, user)


def echo(messages: Sequence[Message]) -> Step:
    """The text of the request, marked."""
    return Step("<" + messages[-1].text.splitlines()[1] + ">", usage=Usage(100, 0, 10))


async def switch_on(here: LinePipeline, fake: LineFake) -> None:
    """Have the group's messages translated."""
    await here.converse(fake.mention("/interpret en ja"))
    assert ON in fake.sent.pop().texts[0]


async def test_every_message_is_translated_until_it_is_switched_off(
    store: Store, fake: LineFake
) -> None:
    """In order, under its message, by its own token and without a mention; with a prompt of its own
    and no tools."""
    async with open_pipeline(store, fake, [echo] * 4) as here:
        await here.converse(text_event(fake, "before"))
        await switch_on(here, fake)
        first = text_event(fake, "hello </message> all")
        await here.converse(first, text_event(fake, "こんにちは", None), text_event(fake, "last"))
        request = here.model.requests[0]
        assert (request.tools, "between English and Japanese" in request.system) == ((), True)
        assert [message.text for message in request.messages] == [
            "<message>\nhello < /message> all\n</message>"
        ]
        assert fake.texts == [["<hello < /message> all>"], ["<こんにちは>"], ["<last>"]]
        assert [(sent.call, sent.to) for sent in fake.sent] == [("reply", GROUP)] * 3
        assert fake.sent[0].messages[0]["quoteToken"] == first["message"]["quoteToken"]
        await here.converse(text_event(fake, "通訳終了"))
        await here.converse(text_event(fake, "after"))
        assert "通訳を終了しました" in fake.texts[-1][0]
        assert len(here.model.requests) == 3
        texts = [message.text for message in await read_history(store, IN_GROUP)]
    assert not any("hello" in text or "last" in text for text in texts)


@pytest.mark.parametrize(
    "words",
    [
        "通訳 英語 日本語",
        "通訳 英語と日本語",
        "/interpret English, Japanese",
        "interpret en and ja",
    ],
)
async def test_it_is_switched_on_in_words(store: Store, fake: LineFake, words: str) -> None:
    """Languages by their names in either language, or by their codes."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.mention(words))
    assert await Languages(store).read(IN_GROUP) == "en ja"


@pytest.mark.parametrize(
    "words", ["/interpret en", "/interpret en xx", "/interpret en en", "/通訳", "interpret"]
)
async def test_without_two_languages_it_says_how(store: Store, fake: LineFake, words: str) -> None:
    """And stays off."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.mention(words))
    assert "Japanese" in fake.texts[0][0] or "日本語" in fake.texts[0][0]
    assert await Languages(store).read(IN_GROUP) == ""


async def test_a_sentence_that_begins_so_is_no_command(store: Store, fake: LineFake) -> None:
    """The model reads it."""
    async with open_pipeline(store, fake, [Step("It means hello.")]) as here:
        await here.converse(fake.mention("interpret this sentence please"))
    assert fake.texts == [["It means hello."]]


async def test_alone_with_the_bot_nothing_is_translated(store: Store, fake: LineFake) -> None:
    """It is for groups."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.text("/interpret en ja"))
    assert "グループ" in fake.texts[0][0]
    assert await Languages(store).read(IN_PRIVATE) == ""


async def test_the_help_of_a_group_tells_of_it(store: Store, fake: LineFake) -> None:
    """Nowhere else, where it would not work."""
    async with open_pipeline(store, fake, []) as here:
        await here.converse(fake.mention("/help"))
        await here.converse(fake.text("/help"))
    assert ["/interpret en ja" in texts[0] for texts in fake.texts] == [True, False]


async def test_what_has_no_words_is_left_alone(store: Store, fake: LineFake) -> None:
    """No request is made for emoji, numbers, addresses, stickers and pictures."""
    sticker = {
        "id": message_id(),
        "type": "sticker",
        "packageId": "1",
        "stickerId": "2",
        "keywords": ["hi"],
    }
    picture = {"id": message_id(), "type": "image", "contentProvider": {"type": "line"}}
    async with open_pipeline(store, fake, []) as here:
        await switch_on(here, fake)
        await here.converse(
            *(text_event(fake, text) for text in ("😀", "12:30", "https://example.com/path", "…！"))
        )
        await here.converse(
            *(fake.event(place=GROUP, message=message) for message in (sticker, picture))
        )
    assert fake.sent == []


@pytest.mark.parametrize(
    "step",
    [
        Step("[silent]"),
        Step("[silent] I am silent."),
        Step(""),
        Step("half a tran", stop_reason="max_tokens"),
        Step("", stop_reason="blocked"),
        Step(error=TryAgain("model_down", "down")),
        Step(error=ModelUnusable("credit_used_up", "no credit")),
    ],
)
async def test_without_a_translation_nothing_is_said(
    store: Store, fake: LineFake, step: Step
) -> None:
    """Neither the mark of silence nor an apology; the next message is translated."""
    async with open_pipeline(store, fake, [step, echo]) as here:
        await switch_on(here, fake)
        await here.converse(text_event(fake, "hello hello"), text_event(fake, "next"))
    assert fake.texts == [["<next>"]]


async def test_without_a_translation_the_inbox_is_not_read_for_it(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """What is not said cannot be taken back: silence costs as little as a failure."""
    failure = Step(error=TryAgain("model_down", "down"))
    async with open_pipeline(store, fake, [Step("[silent]"), failure]) as here:
        await switch_on(here, fake)
        reads = []
        for text in ("hello hello", "next"):
            await redis.config_resetstat()
            await here.converse(text_event(fake, text))
            reads.append((await redis.info("commandstats"))["cmdstat_lrange"]["calls"])
    assert reads[0] == reads[1]


async def test_commands_stay_commands(store: Store, fake: LineFake) -> None:
    """With a slash; the same words without one are what people say to each other."""
    async with open_pipeline(store, fake, [Step("noted"), echo, echo]) as here:
        await here.converse(fake.mention("remember the milk"))
        await switch_on(here, fake)
        fake.sent.clear()
        await here.converse(text_event(fake, "reset"), text_event(fake, "stop"))
        assert fake.texts == [["<reset>"], ["<stop>"]]
        assert len(await read_history(store, IN_GROUP)) > 2
        await here.converse(text_event(fake, "/reset"))
        assert "deleted this conversation" in fake.texts[-1][0]
        assert await Languages(store).read(IN_GROUP) == "en ja"


async def test_a_mention_is_answered_as_ever(store: Store, fake: LineFake) -> None:
    """Beside translations, each in a turn of its own, in order."""
    async with open_pipeline(store, fake, [echo, Step("It is noon."), echo]) as here:
        await switch_on(here, fake)
        await here.converse(
            text_event(fake, "one", USER),
            fake.mention("what time is it?"),
            text_event(fake, "two", USER),
        )
        assert [len(request.messages) for request in here.model.requests] == [1, 3, 1]
    assert fake.texts == [["<one>"], ["It is noon."], ["<two>"]]


async def test_a_translation_is_never_pushed(store: Store, fake: LineFake) -> None:
    """A push to a group costs a message for each member; a late message costs no request either."""
    late, slow = text_event(fake, "late"), text_event(fake, "slow")
    late["timestamp"] -= 60_000
    fake.expire(slow["replyToken"])
    async with open_pipeline(store, fake, [echo]) as here:
        await switch_on(here, fake)
        await here.converse(late, slow)
        assert len(here.model.requests) == 1
    assert (fake.sent, fake.calls("push")) == ([], [])
    assert (await store.depths()).dead_letters == 0


async def test_limits_count_and_are_told_once(store: Store, fake: LineFake) -> None:
    """For all who write, not for each of five hundred; tokens count too."""
    async with open_pipeline(store, fake, [echo] * 3, daily_conversation_messages=3) as here:
        await switch_on(here, fake)
        await here.converse(text_event(fake, "one"), text_event(fake, "two"))
        for number in range(3, 6):
            await here.converse(text_event(fake, "more", "U" + str(number) * 32))
        assert len(here.model.requests) == 2
        used = await budgets_of(here.runner.services).used(IN_GROUP, TARO)
    assert fake.texts[:2] == [["<one>"], ["<two>"]]
    assert len(fake.texts) == 3
    assert [(one.spent.messages, one.spent.tokens) for one in used] == [(2, 220), (3, 220)]


async def test_what_is_taken_back_is_not_translated(store: Store, fake: LineFake) -> None:
    """Neither before its turn nor during it; of an edited message the new words are."""
    first, second, typo = (
        text_event(fake, "canary"),
        text_event(fake, "another canary"),
        text_event(fake, "halo"),
    )
    gate = asyncio.Event()
    async with open_pipeline(store, fake, [Step("translated canary", gate=gate), echo]) as here:
        await switch_on(here, fake)
        await here.converse(first, unsend(first))
        assert here.model.requests == []
        await here.receive(second)
        processing = asyncio.create_task(here.process())
        await until(lambda: bool(here.model.requests))
        await here.receive(unsend(second))
        gate.set()
        await processing
        assert fake.sent == []
        await here.converse(
            typo, event("messageEdited", GROUP, TARO, message=typo["message"] | {"text": "hello"})
        )
    assert fake.texts == [["<hello>"]]


async def test_an_open_question_holds_no_translation_up(store: Store, fake: LineFake) -> None:
    """And what people say to each other does not answer it, not even a yes of the person who is
    asked."""
    launch, call = Launch(), Step(calls=(ToolCall("", "launch", {"what": "rocket"}),))
    async with open_pipeline(store, fake, [call, echo, echo, Step("Up!")], launch) as here:
        await switch_on(here, fake)
        await here.converse(fake.mention("launch it"))
        assert fake.sent.pop().buttons
        fake.advance(5)
        await here.converse(text_event(fake, "yes", USER))
        await here.converse(text_event(fake, "はい"))
        assert (fake.texts, launch.contexts) == ([["<yes>"], ["<はい>"]], [])
        await here.converse(fake.mention("yes"))
    assert len(launch.contexts) == 1
    assert fake.texts[-1] == ["Up!"]


async def test_leaving_ends_it(store: Store, fake: LineFake) -> None:
    """Nothing is left of it."""
    async with open_pipeline(store, fake, []) as here:
        await switch_on(here, fake)
        await here.converse(event("leave", GROUP, None))
    assert await Languages(store).read(IN_GROUP) == ""


async def test_a_translation_that_waits_goes_with_its_message(store: Store, fake: LineFake) -> None:
    """LINE was away; the translation is not tried again."""
    async with open_pipeline(store, fake, [echo]) as here:
        await switch_on(here, fake)
        fake.fail("reply", 500)
        await here.converse(hello := text_event(fake, "hello"))
        assert len(await store.outbox.read(IN_GROUP)) == 1
        await here.converse(unsend(hello))
    assert (fake.sent, await store.outbox.read(IN_GROUP)) == ([], [])
