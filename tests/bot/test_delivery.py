"""Replies leave the outbox in order; what fails waits, or becomes a dead letter."""

from __future__ import annotations

from bot.errors import DeliverLater, DeliveryRefused
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.place import HERE, Place
from tests.waiting import until_true


async def test_a_postponed_delivery_waits_and_keeps_its_id(store: Store) -> None:
    """The due index names the retry's time; the second attempt carries the same id."""
    place = Place(store, [Step("Hello!")])
    place.box.failures = [DeliverLater("slow down", after=0.05)]
    await place.hear("hi", "m1")
    await place.care.attend(HERE)
    assert place.box.delivered == []

    async def is_due() -> bool:
        return HERE in await store.leases.due(10)

    await until_true(is_due)
    await place.care.attend(HERE)
    (delivery,) = place.box.delivered
    assert (delivery.attempts, delivery.id) == (2, f"{delivery.turn_id}_1")


async def test_a_delivery_that_is_not_due_yet_is_not_attempted(store: Store) -> None:
    """Back-off holds also when somebody looks earlier; new messages are answered into the outbox behind it."""
    place = Place(store, [Step("One"), Step("Two")])
    place.box.failures = [DeliverLater("slow down", after=60)]
    await place.hear("hi", "m1")
    await place.care.attend(HERE)
    await place.hear("more", "m2")
    await place.care.attend(HERE)
    assert place.box.delivered == []
    assert [message.text for message in await place.care.past(HERE)] == ["hi", "One", "more", "Two"]


async def test_a_refused_delivery_becomes_a_dead_letter(store: Store) -> None:
    """Kept and counted; the conversation goes on."""
    place = Place(store, [Step("One"), Step("Two")])
    place.box.failures = [DeliveryRefused("the chat is gone")]
    await place.hear("hi", "m1")
    await place.hear("hi again", "m2")
    await place.care.attend(HERE)
    assert (await store.depths()).dead_letters == 1
    await place.hear("still there?", "m3")
    await place.care.attend(HERE)
    assert place.box.texts == ["Two"]


async def test_a_delivery_that_keeps_failing_is_given_up(store: Store) -> None:
    """Ten attempts, then a dead letter: no reply is tried for ever."""
    place = Place(store, [Step("One")])
    place.box.failures = [DeliverLater("busy", after=0) for _ in range(10)]
    await place.hear("hi", "m1")
    for _ in range(12):
        await place.care.attend(HERE)
    assert place.box.delivered == []
    assert (await store.depths()).dead_letters == 1
    assert await store.leases.due(10) == []
