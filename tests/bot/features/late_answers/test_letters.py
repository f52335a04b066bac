"""Late answers on a channel without abilities: in words, and fetched by a number."""

from __future__ import annotations

from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.test_words_alone import Letters, calling


async def test_a_late_answer_is_fetched_by_a_number(store: Store) -> None:
    """The last of the message's envelopes brings the button."""
    letters = Letters(store, Step("It flies."), waits_s=45)
    told = await letters.say("What does it do?", after_s=46)
    assert told.startswith("I am still working on your question.")
    assert told.endswith("[1] Show the answer")
    assert await letters.say("1") == "It flies."


async def test_a_reminder_without_an_envelope_comes_with_the_next_answer(store: Store) -> None:
    """Above it."""
    set_now = calling("set_reminder", text="Drink", **{"in": "PT0S"})
    letters = Letters(store, set_now, Step("Set."), Step("Hello."), waits_s=45)
    await letters.say("Remind me to drink")
    assert await letters.ring() == "Set."
    assert await letters.say("Hi") == "⏰ Drink\n\nHello."
