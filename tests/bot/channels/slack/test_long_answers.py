"""Answers that Slack finds too long though they are not: they arrive in several messages, whole and
in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.questions import ASKED, PLACES, Question, in_channel
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, TEAM
from tests.waiting import until, until_true

PARAGRAPHS = [f"{number} " + "x" * 600 for number in range(12)]
LONG = "\n\n".join(PARAGRAPHS)
THREAD = f"slack:{TEAM}:{CHANNEL}:{ASKED}"
POST = "chat.postMessage"


@pytest.fixture(autouse=True)
def strict(fake: SlackFake) -> None:
    """Of this text a message holds a quarter."""
    fake.most = len(LONG) // 4 + 100


def whole(fake: SlackFake) -> list[str]:
    """The paragraphs that people see, in their order."""
    return "\n\n".join(fake.shown).split("\n\n")


def asks(fake: SlackFake) -> list[str]:
    """The texts of the messages that ask what people think of the answer."""
    blocks = [
        one.get("blocks", [{}])
        for channel in fake.messages.values()
        for one in channel
        if one.get("bot_id")
    ]
    return [one[0]["text"] for one in blocks if one[-1].get("type") == "context_actions"]


async def test_a_text_that_is_too_long_arrives_in_several_messages(
    store: Store, fake: SlackFake
) -> None:
    """Nothing of it is lost, and only the last one asks for feedback."""
    question, _, _ = in_channel(fake)
    async with SlackPipeline(store, fake, [Step(LONG)]) as here:
        await here.send(question)
    assert (whole(fake), len(fake.posted) > 3) == (PARAGRAPHS, True)
    assert asks(fake) == [fake.shown[-1]]
    assert ((await store.depths()).dead_letters, await store.leases.due(10)) == (0, [])


@PLACES
async def test_the_message_that_was_streamed_holds_the_first_part(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """The others follow it."""
    question, _, _ = ask(fake)
    first = PARAGRAPHS[0]
    step = Step(LONG, before=(TextDelta(f"{first}\n"),), gate=asyncio.Event(), gate_after=1)
    async with SlackPipeline(store, fake, [step]) as here:
        await here.post(question)
        processing = asyncio.create_task(here.process())
        await until(lambda: [text.strip() for text in fake.shown] == [first])
        assert step.gate
        step.gate.set()
        await processing
    assert (whole(fake), fake.called("chat.delete"), len(fake.called("chat.startStream"))) == (
        PARAGRAPHS,
        [],
        1,
    )


@pytest.mark.long
async def test_another_process_sends_only_the_parts_that_have_not_arrived(
    store: Store, fake: SlackFake
) -> None:
    """The first one gets no answer to the second part, and dies."""
    question, _, _ = in_channel(fake)

    def hear_nothing() -> None:
        if len(fake.posted) == 1:
            fake.meanwhile.clear()
            fake.hang_up(POST, after=True)

    fake.meanwhile[POST] = hear_nothing
    async with SlackPipeline(store, fake, [Step(LONG)]) as dead:
        await dead.send(question)
        assert len(fake.posted) == 2
    async with SlackPipeline(store, fake) as other:

        async def is_sent() -> bool:
            await other.runner.process(THREAD)
            return not await store.outbox.read(THREAD)

        await until_true(is_sent, 20)
    assert whole(fake) == PARAGRAPHS


async def test_all_parts_go_with_the_message_that_is_taken_back(
    store: Store, fake: SlackFake
) -> None:
    """As one message would."""
    question, _, deletion = in_channel(fake)
    async with SlackPipeline(store, fake, [Step(LONG)]) as here:
        await here.send(question)
        assert whole(fake) == PARAGRAPHS
        await here.send(deletion)
    assert fake.shown == []
