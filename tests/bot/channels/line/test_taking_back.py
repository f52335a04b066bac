"""Messages that are edited or unsent in LINE while they are answered, or a moment after that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from redis.asyncio import Redis

from bot.conversation.cancellation import CHANGES
from bot.conversation.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from bot.transcript import ToolCall
from tests.bot.channels.line.late_turns import held_step, running
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, USER, addressed_message, event, text_message
from tests.waiting import until_true

TARO = "U" + "2" * 32
WORDS = b"to both", b"to the third"


def unsend(message: JSON, place: str | None = None) -> JSON:
    """Somebody takes a message back."""
    where = {"place": place} if place else {}
    return event("unsend", unsend={"messageId": message["id"]}, **where)


async def listens(redis: Redis) -> bool:
    [(_, listeners)] = await redis.pubsub_numsub(Keys(CHANGES).live)
    return bool(listeners)


@asynccontextmanager
async def writing(
    store: Store, redis: Redis, fake: LineFake, question: JSON, *more: Step
) -> AsyncIterator[LinePipeline]:
    """A model hangs over a question; another process than the answering one receives what comes
    now."""
    step = Step("Never sent.", gate=asyncio.Event())
    async with (
        open_pipeline(store, fake, [step, *more]) as worker,
        open_pipeline(store, fake, []) as web,
        worker.runner.cancellations.listen(),
    ):
        await until_true(partial(listens, redis))
        await worker.receive(question)
        processing = asyncio.create_task(worker.process())
        async with asyncio.timeout(10):
            await step.at_gate.wait()
            yield web
            await processing
        assert web.due == []


async def test_nothing_is_said_about_an_unsent_message(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """Neither an answer nor, minutes later, an apology."""
    message = text_message("Oops")
    async with writing(store, redis, fake, fake.event(message=message)) as web:
        await web.receive(unsend(message))
    assert (fake.sent, await read_history(store, IN_PRIVATE)) == ([], [])
    assert await store.leases.due(10) == []


async def test_an_edited_message_is_answered_anew(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """In a group, where LINE lets people edit, by the token of the message itself."""
    question = fake.event(place=GROUP, message=addressed_message("Wether?"))
    async with writing(store, redis, fake, question, Step("Sunny.")) as web:
        await web.receive(
            event(
                "messageEdited",
                place=GROUP,
                message=question["message"] | {"text": "@Kaiwa Weather?"},
            )
        )
    assert fake.texts == [["Sunny."]]
    assert fake.calls("reply")[-1].body["replyToken"] == question["replyToken"]
    assert [message.text for message in await read_history(store, IN_GROUP)][-1] == "Sunny."


async def test_an_unsent_message_whose_webhook_was_late_leaves_its_answer(
    store: Store, fake: LineFake
) -> None:
    """LINE deletes no message of a bot: nothing more is said, and the history forgets both."""
    message = text_message("Oops")
    async with open_pipeline(store, fake, [Step("Sunny.")]) as here:
        await here.hear(fake.event(message=message))
        await here.hear(unsend(message))
    assert (fake.texts, await read_history(store, IN_PRIVATE)) == ([["Sunny."]], [])


@pytest.mark.long
async def test_an_answer_that_line_has_not_taken_is_not_tried_again(
    store: Store, fake: LineFake
) -> None:
    """The question was taken back before the next attempt."""
    message = text_message("Oops")
    fake.trouble("reply", "unheard")
    async with open_pipeline(store, fake, [Step("Sunny.")], patience_s=0.5) as here:
        await here.hear(fake.event(message=message))
        assert len(await store.outbox.read(IN_PRIVATE)) == 1
        await here.hear(unsend(message))
    assert (fake.sent, await store.outbox.read(IN_PRIVATE)) == ([], [])
    assert await store.leases.due(10) == []


@pytest.mark.parametrize("is_unsent", [True, False])
async def test_a_stop_of_somebody_else_leaves_changes_with_their_messages(
    store: Store, fake: LineFake, is_unsent: bool
) -> None:
    """In a group: the message waits for a turn of its own, and so do its new words, or that there
    is none."""
    held = held_step("Never sent.")
    mine, theirs = (
        fake.event(place=GROUP, user=user, message=addressed_message("Hi")) for user in (USER, TARO)
    )
    edited = event(
        "messageEdited", GROUP, TARO, message=theirs["message"] | {"text": "@Kaiwa Weather?"}
    )
    taken_back = event("unsend", GROUP, TARO, unsend={"messageId": theirs["message"]["id"]})
    async with open_pipeline(store, fake, [held, Step("Sunny.")]) as here:
        await here.receive(mine)
        async with running(here, held, IN_GROUP):
            await here.receive(theirs, taken_back if is_unsent else edited)
            await here.receive(fake.event(place=GROUP, message=addressed_message("/stop")))
            here.runner.cancellations.stop(IN_GROUP)
        said = [message.text for message in await read_history(store, IN_GROUP)]
    assert fake.texts == [["Stopped."], *([] if is_unsent else [["Sunny."]])]
    assert said[3:] == ([] if is_unsent else ["Weather?", "Sunny."])


async def test_an_answer_that_waits_goes_with_its_message_though_another_turn_runs(
    store: Store, fake: LineFake
) -> None:
    """In a group: LINE was away, and the retraction comes in the middle of somebody else's turn."""
    held = Step(calls=(ToolCall("c1", "echo", {}),), gate=asyncio.Event())
    mine, theirs = (
        fake.event(place=GROUP, user=user, message=addressed_message("Hi")) for user in (USER, TARO)
    )
    fake.fail("reply", 500)
    async with open_pipeline(store, fake, [Step("Sunny."), held, Step("Hello Taro")]) as here:
        await here.hear(mine)
        assert len(await store.outbox.read(IN_GROUP)) == 1
        await here.receive(theirs)
        async with running(here, held, IN_GROUP):
            await here.receive(unsend(mine["message"], GROUP))
        await until_true(partial(_is_delivered, here, store))
    assert fake.texts == [["Hello Taro"]]


async def test_an_answer_that_waits_goes_with_the_last_of_its_messages(
    store: Store, fake: LineFake
) -> None:
    """In a group: LINE was away, somebody else was answered, and two messages are taken back one
    after the other."""
    mine = [
        fake.event(place=GROUP, message=addressed_message(text))
        for text in ("Weather?", "In Tokyo?")
    ]
    theirs = fake.event(place=GROUP, user=TARO, message=addressed_message("Hi"))
    fake.fail("reply", 500)
    async with open_pipeline(store, fake, [Step("Sunny."), Step("Hello Taro")]) as here:
        await here.receive(*mine)
        await here.process()
        assert len(await store.outbox.read(IN_GROUP)) == 1
        await here.hear(theirs)
        for one in mine:
            await here.hear(unsend(one["message"], GROUP))
        await until_true(partial(_is_delivered, here, store))
    assert fake.texts == [["Hello Taro"]]


async def _is_delivered(here: LinePipeline, store: Store) -> bool:
    await here.runner.process(IN_GROUP)
    return not await store.outbox.read(IN_GROUP)


async def test_a_message_that_comes_after_its_retraction_is_not_answered(
    store: Store, fake: LineFake
) -> None:
    """Its first webhook had met a 503, and LINE brings it again."""
    late = fake.event(message=text_message("Oops")) | {"deliveryContext": {"isRedelivery": True}}
    async with open_pipeline(store, fake, [Step("Hello.")]) as here:
        await here.hear(unsend(late["message"]))
        await here.hear(late)
        assert (fake.sent, await read_history(store, IN_PRIVATE)) == ([], [])
        await here.hear(fake.event(message=text_message("Hi")))
    assert fake.texts == [["Hello."]]


async def _words_kept(store: Store) -> list[bytes]:
    """What waits to be sent, or for a press of its button."""
    late = [one.delivery for one in await store.late_answers.read(IN_PRIVATE)]
    return [
        word
        for raw in (*await store.outbox.read(IN_PRIVATE), *late)
        for word in WORDS
        if word in raw
    ]


@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("command", ["", "/reset"])
async def test_an_answer_goes_with_the_last_of_its_messages(
    store: Store, fake: LineFake, is_late: bool, command: str
) -> None:
    """They are taken back one by one; LINE was away, or a press was waited for, and a later answer
    waits behind it."""
    first, second, third = (
        fake.event(message=text_message(words)) for words in ("one", "two", "three")
    )
    if not is_late:
        fake.fail("reply", 500, times=9)
    async with open_pipeline(
        store, fake, [Step("to both"), Step("to the third")], line_push="never"
    ) as here:
        for asked in ((first, second), (third,)):
            await here.receive(*asked)
            here.wait(61 if is_late else 0)
            await here.process()
        if command:
            await here.hear(fake.event(message=text_message(command)))
        assert await _words_kept(store) == list(WORDS)
        await here.hear(unsend(first["message"]))
        assert await _words_kept(store) == list(WORDS)
        await here.hear(unsend(second["message"]))
        assert await _words_kept(store) == [b"to the third"]
