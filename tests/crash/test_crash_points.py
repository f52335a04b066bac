"""A process may die at any request of a turn to the store: the one that comes after it makes up for
that, exactly."""

from __future__ import annotations

import pytest

from bot.providers.scripted import Step
from bot.store import Depths, Store
from tests.crash.driver import crash_at_every_request
from tests.crash.evidence import Ending, ending_of, record_of
from tests.crash.rig import CrashRig
from tests.crash.scenarios import (
    TOKYO,
    after,
    answers,
    asks,
    comes,
    edits,
    is_down,
    picture,
    says,
    takes_back,
)
from tests.crash.simulation import Conversation, Scenario
from tests.fakes.cut_wire import Cut

ANSWER, SORRY = (
    "Heard: Tokyo?",
    "The language model does not answer at the moment. Please try again in a little while.",
)
CALL_HOME = "⏰ Call home\n(Planned for 1970-01-01 00:00.)"
RESET = (
    "Done: I have deleted this conversation. All else that I keep for you stays. What shall we "
    "talk about?"
)

# A scenario, what is answered, and what is remembered.
SCENARIOS = {
    "a plain answer": (Scenario((TOKYO,), answers), [ANSWER], ["Tokyo?", ANSWER]),
    "two calls side by side": (
        Scenario((TOKYO,), asks("lookup", 1, 2)),
        [ANSWER],
        ["Tokyo?", ANSWER],
    ),
    "two calls not to be made twice": (
        Scenario((TOKYO,), asks("stamp", 1, 2)),
        [ANSWER],
        ["Tokyo?", ANSWER],
    ),
    "a message that joins": (
        Scenario((TOKYO,), asks("lookup", 1), during=after("record", says("m2", "And Osaka?"))),
        ["Heard: Tokyo? And Osaka?"],
        ["Tokyo?", "And Osaka?", "Heard: Tokyo? And Osaka?"],
    ),
    "a message for the next turn": (
        Scenario((TOKYO,), answers, during=after("commit", says("m2", "And Osaka?"))),
        [ANSWER, "Heard: Tokyo? And Osaka?"],
        ["Tokyo?", ANSWER, "And Osaka?", "Heard: Tokyo? And Osaka?"],
    ),
    "an edit": (
        Scenario((TOKYO,), asks("lookup", 1), during=after("record", edits("e1", "Kyoto?", "m1"))),
        ["Heard: Kyoto?"],
        ["Kyoto?", "Heard: Kyoto?"],
    ),
    "an edit of what was answered": (
        Scenario(
            (TOKYO,),
            asks("lookup", 1),
            (says("m0", "Nara?"),),
            after("record", edits("e1", "Kobe?", "m0")),
        ),
        ["Heard: Nara?", "Heard: Kobe? Tokyo?"],
        ["Kobe?", "Heard: Nara?", "Tokyo?", "Heard: Kobe? Tokyo?"],
    ),
    "a message taken back": (
        Scenario(
            (TOKYO, says("m2", "Oops")),
            asks("lookup", 1),
            during=after("record", takes_back("e1", "m2")),
        ),
        [ANSWER],
        ["Tokyo?", ANSWER],
    ),
    "everything taken back": (
        Scenario((TOKYO,), asks("lookup", 1), during=after("record", takes_back("e1", "m1"))),
        [],
        [],
    ),
    "an edit of what the model has answered": (
        Scenario((TOKYO,), answers, during=after("written", edits("e1", "Kyoto?", "m1"))),
        ["Heard: Kyoto?"],
        ["Kyoto?", "Heard: Kyoto?"],
    ),
    "the answered message taken back": (
        Scenario((TOKYO,), asks("lookup", 1), during=after("written", takes_back("e1", "m1"))),
        [],
        [],
    ),
    "an answered message taken back": (
        Scenario(
            (TOKYO,), answers, during=after("take_head", takes_back("e1", "m1")), deletes=True
        ),
        [],
        [],
    ),
    "an edit while the answer waits": (
        Scenario(
            (TOKYO,),
            asks("lookup", 1),
            during=after("commit", edits("e1", "Kyoto?", "m1")),
            busy=1,
        ),
        ["Heard: Kyoto?"],
        ["Kyoto?", "Heard: Kyoto?"],
    ),
    "one of two messages taken back while the answer waits": (
        Scenario(
            (TOKYO, says("m2", "Oops")),
            answers,
            during=after("commit", takes_back("e1", "m2")),
            busy=1,
            deletes=True,
        ),
        [ANSWER],
        ["Tokyo?", ANSWER],
    ),
    "a command": (
        Scenario(
            (says("r1", "/reset"),),
            lambda messages: Step("Hello!"),
            (says("m0", "Nara?"),),
            (),
            (TOKYO,),
        ),
        ["Hello!", RESET, "Hello!"],
        ["/reset", RESET, "Tokyo?", "Hello!"],
    ),
    "an apology": (Scenario((TOKYO,), asks("lookup", 1, then=is_down)), [SORRY], ["Tokyo?", SORRY]),
    "an album": (
        Scenario((picture("m1", "one"),), answers, during=after("open", picture("m2", "two"))),
        ["Heard: one two"],
        ["one", "two", "Heard: one two"],
    ),
    "a reminder": (
        Scenario((comes("r1", "Call home"), TOKYO), answers),
        [CALL_HOME, ANSWER],
        ["Call home", CALL_HOME, "Tokyo?", ANSWER],
    ),
    "a routine beside a message": (
        Scenario(
            (TOKYO, comes("r1", "Osaka!", routine=True), says("m2", "Kyoto?")), asks("lookup", 1)
        ),
        [ANSWER, "Heard: Tokyo? Osaka!", "Heard: Tokyo? Osaka! Kyoto?"],
        [
            "Tokyo?",
            ANSWER,
            "Osaka!",
            "Heard: Tokyo? Osaka!",
            "Kyoto?",
            "Heard: Tokyo? Osaka! Kyoto?",
        ],
    ),
    "a delivery postponed": (Scenario((TOKYO,), answers, busy=2), [ANSWER], ["Tokyo?", ANSWER]),
}


@pytest.mark.parametrize(
    "carried_out", [False, True], ids=["before the request", "after the request"]
)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_death_changes_nothing(
    name: str, carried_out: bool, rig: CrashRig, store: Store
) -> None:
    """One answer, one turn in the history, nothing asked or called again that was on record,
    nothing left to do."""
    scenario, answered, remembered = SCENARIOS[name]
    undisturbed = await crash_at_every_request(scenario, rig, carried_out=carried_out)
    assert (undisturbed.answers, undisturbed.past) == (answered, remembered)
    assert await store.depths() == Depths(due=0, dead_letters=0)


@pytest.mark.parametrize("is_sent_again", [True, False], ids=["sent again", "sent once"])
@pytest.mark.parametrize(
    ("cut", "is_stored"),
    [(Cut(1), False), (Cut(1, carried_out=True), True), (Cut(), True)],
    ids=["before the write", "after the write", "before the turn"],
)
async def test_a_message_survives_whoever_takes_it_in(
    cut: Cut, is_stored: bool, is_sent_again: bool, rig: CrashRig, store: Store
) -> None:
    """The platform has had no 200: what is kept is answered with or without its second copy, and
    once."""
    conversation = Conversation("mailbox:door", Scenario((), answers), rig)
    assert await conversation.knock(TOKYO, cut) == ["accept"]
    if is_sent_again:
        assert await rig.accept(conversation.name, TOKYO) is not is_stored
    last = await conversation.process()
    words = [ANSWER] if is_stored or is_sent_again else []
    past = ["Tokyo?", *words] if words else []
    ending = Ending(answers=words, past=past, results={}, asked=len(words), called=[])
    assert await ending_of(conversation, last, await record_of(conversation)) == ending
