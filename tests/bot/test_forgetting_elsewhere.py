"""Being forgotten also where somebody is being answered at that moment."""

from __future__ import annotations

import asyncio

from bot.channels import Arrival
from bot.housekeeping import Forgotten, Housekeeping
from bot.providers.scripted import Step
from bot.records import read_record
from bot.store import Store
from bot.transcript import Author, Message, Text
from tests.bot.place import HERE, Place
from tests.bot.store.turns import leased

OWN = "mailbox:user:u1"
WISH = Arrival(Message("m9", "user", (Text("/forget me"),), 1, Author("u1")))


async def talk(store: Store) -> None:
    """Somebody talks in one conversation, and is known to have done so."""
    place = Place(store, [Step("One")])
    await place.hear("my secret", "m1")
    await place.care.attend(HERE)


async def kept(store: Store) -> list[str]:
    """What is kept of that conversation."""
    return [message.text for entry in await store.history.read(HERE, 9) for message in read_record(entry).messages]


async def test_a_conversation_that_is_being_answered_is_waited_for(store: Store) -> None:
    """Its turn ends, then it is forgotten."""
    await talk(store)
    other, own = await leased(store, HERE), await leased(store, OWN)
    forgetting = asyncio.create_task(Housekeeping(store, 30).forget(own, WISH))
    await asyncio.sleep(0)
    await store.leases.release(other)
    assert await forgetting == Forgotten(conversations=2, messages=2)
    assert await kept(store) == []


async def test_a_conversation_that_stays_busy_is_found_the_next_time(store: Store) -> None:
    """It remains on the person's list until it is forgotten."""
    await talk(store)
    other, own = await leased(store, HERE), await leased(store, OWN)
    impatient = Housekeeping(store, 30, rounds=1)
    assert await impatient.forget(own, WISH) == Forgotten(conversations=1, messages=0)
    assert await kept(store) == ["my secret", "One"]
    await store.leases.release(other)
    assert await impatient.forget(own, WISH) == Forgotten(conversations=2, messages=2)
    assert await kept(store) == []
