"""A person's pushes have a limit of a day: what is beyond it waits for their next message, or for a
press."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from bot.features.reminders.clock import ReminderClock
from bot.features.reminders.reminder import StoredReminder
from bot.features.reminders.store import StoredReminders
from bot.features.reminders.tools import SetReminder
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, ToolCall, encode
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, open_rig
from tests.bot.channels.line.slow_turns import question, ways
from tests.bot.features.late_answers.late_turns import (
    EARLIER,
)
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import BOT, GROUP, JSON, USER, event
from tests.fakes.tools import Echo
from tests.waiting import until_true
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

TARO = "U" + "2" * 32


class Launch(Echo):
    """A call that a person has to allow."""

    name = "launch"
    risk = "high"


async def ring(
    here: LinePipeline,
    store: Store,
    *contents: str,
    conversation: str = IN_PRIVATE,
    author: str = USER,
) -> None:
    """Have the time of reminders come; they are not delivered yet."""
    clock = ReminderClock(store, texts(), "en", lambda due, _: here.due.append(due))
    at = await store.now_ms(conversation) - 1
    for number, text in enumerate(contents):
        body = StoredReminder(text, at, "UTC", Author(author), group=conversation != IN_PRIVATE)
        await StoredReminders(store).add(conversation, f"{author}_{at}_{number}", at, encode(body))
    await clock.sweep()


def hello(fake: LineFake, user: str = USER) -> JSON:
    return fake.mention("hello", user=user)


async def test_a_reminder_beyond_the_limit_comes_with_the_next_reply(
    store: Store, fake: LineFake
) -> None:
    """In one message, above the answer, which costs nothing; and only once."""
    async with open_pipeline(
        store, fake, [Step("Hi!"), Step("Sunny.")], line_daily_user_pushes=1
    ) as here:
        for text in ("tea", "bread", "milk"):
            await ring(here, store, text)
            await here.process()
        assert ways(fake) == [("push", "⏰ tea")]
        await here.converse(question(fake))
        assert fake.texts[1:] == [["⏰ bread\n\n⏰ milk\n\nHi!"]]
        assert (fake.sent[-1].call, fake.used) == ("reply", 1)
        await here.converse(question(fake, "And the weather?"))
    assert fake.texts[2:] == [["Sunny."]]
    assert await store.outbox.kept(IN_PRIVATE) == []
    assert await store.dead_letters.read() == []


async def test_a_reply_of_unknown_outcome_brings_a_reminder_once(
    store: Store, fake: LineFake
) -> None:
    """The line was cut after LINE had taken it; the next attempt finds that out by the token."""
    async with open_pipeline(store, fake, [Step("Hi!"), Step("Sunny.")], line_push="never") as here:
        await ring(here, store, "bread")
        await here.process()
        fake.trouble("reply", "cut")
        await here.converse(question(fake))

        async def is_over() -> bool:
            await here.runner.process(IN_PRIVATE)
            return await store.outbox.kept(IN_PRIVATE) == []

        await until_true(is_over)
        await here.converse(question(fake))
    assert fake.texts == [["⏰ bread\n\nHi!"], ["Sunny."]]


async def test_what_does_not_fit_above_an_answer_waits_for_the_button(
    store: Store, fake: LineFake
) -> None:
    """Nearly four reminders of 500 characters fit."""
    async with open_pipeline(store, fake, [Step("Hi!")], line_push="never") as here:
        await ring(here, store, *(f"{number}" * 500 for number in range(5)))
        await here.process()
        await here.converse(question(fake))
        [[shown]] = fake.texts
        assert [part[:3] for part in shown.split("\n\n")] == ["⏰ 0", "⏰ 1", "⏰ 2", "Hi!"]
        for number in (3, 4):
            await here.converse(fake.press(EARLIER))
            assert fake.texts[-1] == [f"⏰ {number}" + f"{number}" * 499]
        assert await store.outbox.kept(IN_PRIVATE) == []


async def test_what_may_get_lost_brings_nothing(store: Store, fake: LineFake) -> None:
    """Facts (``bot.features.memory``) are for one person alone, and are not pushed when they are
    late; the next answer brings the reminder."""
    async with open_pipeline(store, fake, [Step("Hi!")], line_push="never") as here:
        await ring(here, store, "bread", conversation=IN_GROUP)
        await here.process()
        await here.converse(fake.mention("/memory"))
        await here.converse(hello(fake))
    assert ["⏰ bread" in text for [text] in fake.texts] == [False, True]


async def test_an_alert_and_a_reply_are_no_persons_pushes(fake: LineFake) -> None:
    """A limit of one is not touched by replies; an alert is for no person."""
    async with open_rig(fake, line_daily_user_pushes=1) as rig:
        for number in range(3):
            await rig.deliver(
                "Alert!", conversation=f"line:notices:user:{USER}", delivery_id=f"notice_{number}"
            )
            await rig.deliver("Hi!", rig.address(fake.token()), delivery_id=f"turn_{number}")
    assert [sent.call for sent in fake.sent] == ["push", "reply"] * 3


async def test_a_push_in_a_group_counts_for_everybody_and_for_whose_reminder_it_is(
    store: Store, fake: LineFake
) -> None:
    """Two people's reminders that come at once: each has a limit of six, and a push to the group
    costs three."""
    fake.members = {GROUP: 3}
    async with open_pipeline(store, fake, [Step("Hi!")], line_daily_user_pushes=6) as here:
        await ring(here, store, "a", "b", "c", conversation=IN_GROUP)
        await ring(here, store, "d", conversation=IN_GROUP, author=TARO)
        await here.process()
        assert (sorted(fake.texts), fake.used) == ([["⏰ a"], ["⏰ b"], ["⏰ d"]], 9)
        await here.converse(hello(fake, TARO))
        assert fake.texts[3:] == [["Hi!"]]


async def test_the_limit_holds_across_processes(store: Store, fake: LineFake) -> None:
    """Two processes push for one person into twelve groups at once."""
    groups = [f"C{number:032x}" for number in range(12)]
    conversations = [f"line:{BOT}:group:{group}" for group in groups]
    async with AsyncExitStack() as stack:
        here, other = [
            await stack.enter_async_context(
                open_pipeline(store, fake, [], line_daily_user_pushes=10)
            )
            for _ in range(2)
        ]
        for conversation in conversations:
            await ring(here, store, "tea", conversation=conversation)
        halves = (here, conversations[:6]), (other, conversations[6:])
        await asyncio.gather(*(one.runner.process(place) for one, half in halves for place in half))
    assert (len(fake.sent), fake.used) == (5, 10)


@pytest.mark.parametrize(
    ("members", "limit", "is_set"), [(20, 20, True), (21, 20, False), (21, 0, True)]
)
async def test_a_reminder_that_the_limit_can_never_pay_is_refused(
    store: Store, fake: LineFake, members: int, limit: int, is_set: bool
) -> None:
    """When it is set, in words by which the model can help."""
    fake.members = {GROUP: members}
    call = ToolCall("c1", "set_reminder", {"text": "tea", "in": "PT2M"})
    tools = ToolMap([ValidatedTool(SetReminder(), *read_schemas("set_reminder"))])
    steps = [Step(calls=(call,)), Step("ok")]
    async with open_pipeline(
        store, fake, steps, toolset=tools, line_daily_user_pushes=limit
    ) as here:
        await here.converse(hello(fake))
        [result] = here.asked().results
    assert len(await StoredReminders(store).read(IN_GROUP)) == is_set
    why = "not set: what is sent here later counts as 21 messages, one for each member, "
    assert result.response.get("error", why).startswith(why)


async def test_where_all_is_pushed_tokens_serve_beyond_the_limit(
    store: Store, fake: LineFake
) -> None:
    """LINE_PUSH=always, as with the month's messages used up."""
    steps = [Step("One."), Step("Two.")]
    async with open_pipeline(
        store, fake, steps, line_push="always", line_daily_user_pushes=1
    ) as here:
        await here.converse(question(fake))
        await here.converse(question(fake))
    assert ways(fake) == [("push", "One."), ("reply", "Two.")]


async def test_a_question_of_a_routine_that_cannot_be_pushed_is_a_no(
    store: Store, fake: LineFake
) -> None:
    """Nobody waits for it; the answer to the routine waits for its person's next message."""
    steps = [
        Step(calls=(ToolCall("c1", "launch", {}),)),
        Step("I was not allowed to."),
        Step("Hi!"),
    ]
    tool = Launch()
    async with open_pipeline(store, fake, steps, tool, line_push="never") as here:
        clock = ReminderClock(store, texts(), "en", lambda due, _: here.due.append(due))
        at = await store.now_ms(IN_PRIVATE) - 1
        body = encode(StoredReminder("launch it", at, "UTC", Author(USER), routine=True))
        await StoredReminders(store).add(IN_PRIVATE, "r1", at, body)
        await clock.sweep()
        await here.process()
        await here.runner.process(IN_PRIVATE)
        assert (fake.sent, tool.contexts) == ([], [])
        await here.converse(question(fake))
    assert fake.texts == [["I was not allowed to.\n\nHi!"]]


@pytest.mark.parametrize("kind", ["memberLeft", "leave", "unfollow"])
async def test_no_reminder_outlives_its_place(store: Store, fake: LineFake, kind: str) -> None:
    """Neither one that is set, nor one that has come and waits, nor one that comes in the same
    moment."""
    place, conversation = (USER, IN_PRIVATE) if kind == "unfollow" else (GROUP, IN_GROUP)
    gone = event(
        kind,
        place,
        None if place == GROUP else USER,
        left={"members": [{"type": "user", "userId": USER}]},
    )
    async with open_pipeline(store, fake, [], line_push="never") as here:
        await ring(here, store, "waits", conversation=conversation)
        await here.process()
        assert len(await store.outbox.kept(conversation)) == 1
        at = await store.now_ms(conversation) + 60_000
        body = encode(StoredReminder("set", at, "UTC", Author(USER), group=place == GROUP))
        await StoredReminders(store).add(conversation, "r1", at, body)
        await ring(here, store, "before", conversation=conversation)
        await here.receive(gone)
        await ring(here, store, "after", conversation=conversation)
        await here.process()
        await here.runner.process(conversation)
    assert await store.outbox.kept(conversation) == []
    assert await StoredReminders(store).read(conversation) == {}
    assert await store.outbox.read(conversation) == []
    assert fake.sent == []
