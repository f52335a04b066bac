"""Routines beside other messages: each is a turn of its own, and what ends others does not end
it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.channels import InboundEvent, PlaceSettings
from bot.features.reminders.clock import ReminderClock
from bot.features.reminders.reminder import MAX_FAILURES, StoredReminder
from bot.features.reminders.store import StoredReminders
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.pipeline.turn import MAX_STARTS
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text, encode
from tests.bot.features.reminders.test_reminders import Stage, setting
from tests.bot.harness import HERE, Harness, texts
from tests.bot.pipeline.held_turns import calling, held
from tests.bot.store.turns import leased

EMMA = Author("u1", "Emma", "en", "UTC")


async def say(
    harness: Harness, text: str, message_id: str, author: Author = EMMA, *, group: bool = False
) -> None:
    at = await harness.store.now_ms(HERE)
    await harness.arrive(
        InboundEvent(Message(message_id, "user", (Text(text),), at, author), group=group)
    )


async def ring(
    harness: Harness, text: str = "Tell me a joke", *, routine: bool = True, number: int = 1
) -> None:
    """A reminder of Emma's comes now."""
    at = await harness.store.now_ms(HERE) - 1
    stored = StoredReminder(text, at, "UTC", EMMA, routine=routine)
    await StoredReminders(harness.store).add(HERE, f"r{number}", at, encode(stored))
    await ReminderClock(harness.store, texts(), "en", lambda *who: None).sweep()


def asked(harness: Harness) -> list[str]:
    """The last message of each request to the model, without our own words before it."""
    return [request.messages[-1].text.rpartition("\n")[2] for request in harness.model.requests]


async def test_a_routine_shares_no_turn_with_waiting_messages(store: Store) -> None:
    """Neither with those before it nor with those after it, nor with another routine; in their
    order."""
    harness = Harness(store, [Step("Hello."), Step("A joke."), Step("A poem."), Step("Bye.")])
    await say(harness, "hi", "m1")
    await ring(harness)
    await ring(harness, "Tell me a poem", number=2)
    await say(harness, "good night", "m2")
    await harness.runner.process(HERE)
    assert harness.box.texts == ["Hello.", "A joke.", "A poem.", "Bye."]
    assert asked(harness) == ["hi", "Tell me a joke", "Tell me a poem", "good night"]


async def test_a_message_during_a_routine_gets_an_answer_of_its_own(store: Store) -> None:
    """Its author is the routine's; the model reads it after the routine's answer."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("A joke."), Step("Hello.")])
    await ring(harness)
    async with held(harness, first):
        await say(harness, "hi", "m1")
    assert harness.box.texts == ["A joke.", "Hello."]


async def test_a_stop_ends_the_running_turn_and_no_routine_that_waits(store: Store) -> None:
    """The routine came during the turn; one that runs is stopped like any turn."""
    first, second = calling(held=True), calling(held=True)
    harness = Harness(store, [first, Step("A joke."), second])
    await say(harness, "hi", "m1")
    async with held(harness, first):
        await ring(harness)
        await say(harness, "/stop", "m2")
    stopped, joke = harness.box.texts
    assert ("topped" in stopped, joke) == (True, "A joke.")
    await ring(harness, number=2)
    async with held(harness, second):
        await say(harness, "/stop", "m3")
    assert harness.box.texts[2:] == [stopped]


async def test_a_reset_takes_no_reminder_that_has_come(store: Store) -> None:
    """A plain text is said and a routine is carried out, before and after what the reset says."""
    harness = Harness(store, [Step("One."), Step("A joke.")])
    await say(harness, "SECRET", "m1")
    await harness.runner.process(HERE)
    await ring(harness, "call home", routine=False)
    await ring(harness, number=2)
    await say(harness, "/reset", "m2")
    await harness.runner.process(HERE)
    _, spoken, reset, joke = harness.box.texts
    assert (spoken, joke) == ("⏰ call home", "A joke.")
    assert "deleted this conversation" in reset
    assert "SECRET" not in str(harness.model.requests[-1].messages)


async def test_a_routine_whose_turn_is_given_up_has_failed(store: Store) -> None:
    """It has failed twice before, and now each start kills its process: the sentence comes with the
    apology."""
    at = await store.now_ms(HERE) + 86_400_000
    harness = Harness(store, [])
    stored = StoredReminder(
        "Tell me a joke", at, "UTC", EMMA, routine=True, failures=MAX_FAILURES - 1
    )
    await StoredReminders(store).add(HERE, "r1", at, encode(stored))
    message = Message("m1", "user", (Text("Routine:\n"), Text("Tell me a joke")), at, EMMA)
    await harness.arrive(
        InboundEvent(message, action="reminders.routine", scheduled="task", target="r1")
    )
    lease = await leased(store, HERE)
    for _ in range(MAX_STARTS + 1):  # the release takes one back
        await store.journal.begin(lease, "turn_1")
    await store.leases.release(lease)
    await harness.runner.process(HERE)
    apology, rests = harness.box.texts
    assert "something went wrong" in apology.casefold()
    assert rests.startswith("This routine has failed three times")


async def test_over_the_limit_a_routine_says_so_once_a_day(store: Store) -> None:
    """With its text; a routine that comes once is not left out without a word because another one
    was."""
    harness = Harness(store, [Step("Hello.")], settings={"daily_user_messages": 1})
    await say(harness, "hi", "m1")
    await harness.runner.process(HERE)
    for _ in range(3):
        await ring(harness)
        await harness.runner.process(HERE)
    await ring(harness, "Tell me a poem", number=2)
    await harness.runner.process(HERE)
    _, joke, poem = harness.box.texts
    assert joke.startswith(
        "I could not do this now: Tell me a joke\nYou have reached today's limit of 1 messages."
    )
    assert "Tell me a poem" in poem


async def test_a_routine_ends_when_its_author_leaves_the_group(store: Store) -> None:
    """At once, and without a word; what came of it before that and waits behind other messages is
    not carried out."""
    steps = setting(text="Tell me a joke", at="2027-01-04T07:00", repeat="FREQ=DAILY", routine=True)
    stage = Stage(store, [*steps, Step("Hello.")])
    await stage.say("every day at 7 tell me a joke", "m1", Author("u1"), group=True)
    gone = InboundEvent(
        Message("l1", "user", (), 1_000), group=True, event="members_left", target="u1"
    )
    hello = InboundEvent(Message("m2", "user", (Text("hi"),), 1_000, Author("u2")), group=True)
    await stage.harness.arrive(gone, hello)
    await stage.make_due()
    await stage.clock.sweep()
    await stage.harness.runner.process(HERE)
    assert stage.harness.box.texts == ["Set.", "Hello."]
    assert await stage.stored() == []
    assert await StoredReminders(store).due(10) == []


class Silent(Feature):
    """A place in which nothing is answered."""

    def __init__(self, services: Services) -> None:
        """Needs none."""

    def settings_of(self, conversation: str, person: str) -> PlaceSettings:
        return PlaceSettings(speak="never")


async def test_what_was_set_before_comes_where_nothing_is_answered(store: Store) -> None:
    """``speak = "never"`` is about messages: what somebody has asked for is not lost."""
    harness = Harness(store, [Step("A joke.")], also=[Silent])
    assert not await harness.intake(HERE, InboundEvent(Message("m1", "user", (Text("hi"),), 1)))
    await ring(harness)
    await ring(harness, "Drink water", routine=False, number=2)
    await harness.runner.process(HERE)
    assert harness.box.texts == ["⏰ Drink water", "A joke."]


class InTokyo(Feature):
    """What an operator has set for a place."""

    def settings_of(self, conversation: str, person: str) -> PlaceSettings:
        return PlaceSettings(time_zone="Asia/Tokyo")


async def test_a_routine_goes_by_the_clock_of_its_place(store: Store) -> None:
    """Where nobody knows that of its person: at nine each morning, not only on the first one."""
    first = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}T09:00"
    stage = Stage(store, setting(text="news", at=first, repeat="FREQ=DAILY"))
    stage.harness.runner.services.features.install([InTokyo()])
    await stage.say("the news at nine each morning", "m1", Author("u1"))
    (stored,) = await stage.stored()
    assert (stored.zone, stored.start) == ("Asia/Tokyo", f"{first}:00")
    again = stored.next_after(stored.at)
    assert again is not None
    assert again.at - stored.at == 86_400_000
