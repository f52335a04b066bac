"""Words decide about a call only where they can be meant for its question: shown, read, and in
time."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.channels import Abilities, InboundEvent
from bot.errors import DeliverLater
from bot.features.approvals.answers import READING_MS
from bot.live_events import SAY
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text
from tests.bot.features.approvals.test_approvals import LAUNCH, Scene
from tests.bot.harness import HERE, SHOWN_AT, WRITTEN_AT, decision_of, edited, unsent
from tests.bot.store.turns import key
from tests.waiting import until_true

POLITE = ("お願いします", "うん", "ええ。", "y")


def asked(scene: Scene) -> list[str]:
    """What the model was told by people in its newest request."""
    return [
        message.text
        for message in scene.harness.model.requests[-1].messages
        if message.role == "user"
    ]


@pytest.mark.parametrize("words", ["yes", "はい", "no", "on Friday"])
async def test_words_from_before_the_question_could_be_read_decide_nothing(
    store: Store, words: str
) -> None:
    """They were written to something else: the question stays open, and they reach the model after
    the decision."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await scene.say(words, "m2", at=SHOWN_AT + READING_MS - 1)
    assert scene.launch.contexts == []
    assert await scene.harness.question() is not None
    await scene.press(True, "p1")
    assert len(scene.launch.contexts) == 1
    assert asked(scene) == ["launch it", words]


async def test_words_count_from_the_moment_on_when_the_question_could_be_read(store: Store) -> None:
    """A second and a half after it was shown, by the platform's own clock."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await scene.say("yes", "m2", at=SHOWN_AT + READING_MS)
    assert len(scene.launch.contexts) == 1


@pytest.mark.parametrize("words", POLITE)
async def test_polite_words_neither_allow_nor_forbid(store: Store, words: str) -> None:
    """They end a request as well as they answer one; whoever means yes can still say so."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await scene.say(words, "m2")
    assert (scene.launch.contexts, await store.leases.due(10)) == ([], [])
    await scene.say("yes", "m3")
    assert len(scene.launch.contexts) == 1
    assert asked(scene) == ["launch it", words, "yes"]


@pytest.mark.parametrize("words", ["y", "お願いします"])
async def test_at_a_prompt_polite_words_are_an_answer(store: Store, words: str) -> None:
    """There a question is shown before anything can be written to it."""
    scene = Scene(store, Step("Launched"))
    scene.harness.box.abilities = Abilities(is_prompt=True)
    await scene.say("launch it", "m1")
    await scene.say(words, "m2", at=SHOWN_AT)
    assert len(scene.launch.contexts) == 1


async def test_words_decide_nothing_while_the_question_is_on_its_way(store: Store) -> None:
    """The platform is away: whoever says yes says it to a question that nobody has been shown."""
    scene = Scene(store, Step("Launched"))
    scene.harness.box.failures = [DeliverLater("HTTP 500", after=0)] * 9  # each visit tries twice
    await scene.say("launch it", "m1")
    for number, words in enumerate(("お願いします", "ok", "launch another")):
        await scene.say(words, f"w{number}")
    assert (scene.launch.contexts, scene.harness.box.texts) == ([], [])
    scene.harness.box.failures.clear()
    scene.harness.box.shown_at = WRITTEN_AT + 1
    await scene.harness.runner.process(HERE)
    assert await scene.harness.question() is not None
    await scene.say("ok", "m2", at=WRITTEN_AT + 1 + READING_MS)
    assert len(scene.launch.contexts) == 1


async def test_words_decide_nothing_where_it_is_not_known_that_the_question_was_shown(
    store: Store, redis: Redis
) -> None:
    """The record of it may have been deleted with its delivery: then buttons alone decide."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await redis.hdel(key("turn", HERE), "shown")
    await scene.say("yes", "m2")
    assert scene.launch.contexts == []
    await scene.press(True, "p1")
    assert len(scene.launch.contexts) == 1


async def test_another_persons_wish_to_be_forgotten_withdraws_no_question(store: Store) -> None:
    """It names them, and is not theirs: who is asked is still to be shown it, before any word
    counts."""
    scene = Scene(store, Step("Launched"))
    scene.harness.box.failures = [DeliverLater("HTTP 503", after=0)] * 9
    await scene.accept("launch it", "m1", "alice", group=True)
    await scene.harness.runner.process(HERE)
    assert len(await store.outbox.read(HERE)) == 1
    await scene.say("/forget me", "m2", "rocket", group=True)  # an id that stands in the arguments
    assert len(await store.outbox.read(HERE)) >= 1
    await scene.say("ok", "m3", "alice", group=True)
    assert scene.launch.contexts == []
    scene.harness.box.failures.clear()
    await scene.harness.runner.process(HERE)
    assert scene.question


@pytest.mark.parametrize(
    "change", [unsent("e1", "m2"), edited("e1", "m2", "no"), unsent("e1", "m1")]
)
async def test_a_yes_that_was_taken_back_is_none(store: Store, change: InboundEvent) -> None:
    """Both came in while no worker ran: what somebody wants last counts."""
    scene = Scene(store, Step("Well"))
    await scene.say("launch it", "m1")
    await scene.accept("yes", "m2")
    await scene.harness.arrive(change)
    await scene.harness.runner.process(HERE)
    assert scene.launch.contexts == []


@pytest.mark.parametrize("command", ["/forget me", "/reset", "使い方", "/usage"])
@pytest.mark.parametrize("at", [SHOWN_AT, WRITTEN_AT])
async def test_a_command_is_obeyed_while_a_question_is_open(
    store: Store, command: str, at: int
) -> None:
    """The call is rejected, and the model is not told the command as words."""
    scene = Scene(store, Step("As you like"))
    await scene.say("launch it", "m1")
    await scene.say(command, "m2", at=at)
    assert scene.launch.contexts == []
    assert command not in asked(scene)
    assert (
        len(scene.harness.box.texts) == 4
    )  # the question, its outcome, the model's answer, the command's
    assert await store.leases.due(10) == []


async def test_others_commands_do_not_wait_for_a_question(store: Store) -> None:
    """It is none of theirs; what they say meanwhile is found when they want to be forgotten."""
    scene = Scene(store, Step("Launched"))
    await scene.accept("launch it", "m1", "alice", group=True)
    await scene.harness.runner.process(HERE)
    await scene.say("something private", "m2", "bob", group=True)
    await scene.say("/forget me", "m3", "bob", group=True)
    assert scene.harness.box.texts[-1].startswith("Done: I have deleted")
    assert await store.inbox.read(HERE) == []
    await scene.press(True, "p1", "alice")
    assert [context.user for context in scene.launch.contexts] == ["alice"]


async def test_a_press_is_found_wherever_it_stands_in_the_inbox(store: Store) -> None:
    """What waited before the question may have gone meanwhile."""
    scene = Scene(store, Step("Launched"))
    await scene.accept("launch it", "m1", "alice", group=True)
    await scene.accept("hello", "m2", "bob", group=True)
    await scene.harness.runner.process(HERE)
    await scene.say("/forget me", "m3", "bob", group=True)
    await scene.press(True, "p1", "alice")
    assert len(scene.launch.contexts) == 1


@pytest.mark.parametrize(("words", "at"), [("はい", SHOWN_AT), ("お願いします", WRITTEN_AT)])
async def test_whoever_says_what_decides_nothing_is_told_how_to_answer(
    store: Store, words: str, at: int
) -> None:
    """Once for a question: nobody waits for an hour because of a word."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    await scene.say(words, "m2", at=at)
    await scene.say(words, "m3", at=at)
    assert scene.harness.box.texts[1:] == ["Please press a button, or answer yes or no."]
    await scene.say("yes", "m4")
    assert len(scene.launch.contexts) == 1


@pytest.mark.long
async def test_a_decision_after_the_deadline_is_none(store: Store) -> None:
    """Nobody was there to see the question expire, and it has expired all the same."""
    scene = Scene(store, Step("Too late"), settings={"approval_ttl_s": 1})
    await scene.say("launch it", "m1")
    question = await scene.harness.question()
    assert question is not None

    async def is_over() -> bool:
        return await store.now_ms(HERE) > question.until

    await until_true(is_over)
    await scene.press(True, "p1")
    assert scene.launch.contexts == []
    assert scene.result.response == {"error": "approval expired"}  # type: ignore[attr-defined]
    assert "This has been decided already, or it has expired." in scene.harness.box.texts


@pytest.mark.long
async def test_a_decision_in_time_counts_however_late_it_is_read(store: Store) -> None:
    """No worker ran until after the deadline."""
    scene = Scene(store, Step("Launched"), settings={"approval_ttl_s": 1})
    await scene.say("launch it", "m1")
    question = await scene.harness.question()
    assert question is not None
    press = Message("p1", "user", (), 0, Author("u1"))
    await scene.harness.arrive(decision_of(press, question.key, approved=True))

    async def is_over() -> bool:
        return await store.now_ms(HERE) > question.until

    await until_true(is_over)
    await scene.harness.runner.process(HERE)
    assert len(scene.launch.contexts) == 1


async def test_only_the_askers_own_message_of_this_turn_rejects_when_it_is_taken_back(
    store: Store,
) -> None:
    """Anybody may delete messages of their own; that says nothing about another's question."""
    scene = Scene(store, LAUNCH, Step("Launched"), first=Step("Hello, Bob"))
    await scene.say("hello", "m0", "bob")
    await scene.say("launch it", "m1")
    await scene.harness.arrive(unsent("e1", "m0"))
    await scene.harness.runner.process(HERE)
    assert await scene.harness.question() is not None
    await scene.harness.arrive(unsent("e2", "m1"))
    await scene.harness.runner.process(HERE)
    assert await scene.harness.question() is None
    assert scene.launch.contexts == []


async def test_in_a_group_everybody_has_turns_of_their_own(store: Store) -> None:
    """Bob asked, so Bob is named and decides, whatever Alice says meanwhile."""
    scene = Scene(store, Step("Launched"), Step("You are welcome"))
    await scene.accept("launch it", "m1", "bob", group=True)
    await scene.accept("thanks", "m2", "alice", group=True)
    await scene.harness.runner.process(HERE)
    question = await scene.harness.question()
    assert question is not None
    assert (question.asker_id, question.asker) == ("bob", "BOB")
    assert asked(scene) == ["launch it"]
    await scene.press(True, "p1", "alice")
    assert scene.launch.contexts == []
    await scene.press(True, "p2", "bob")
    assert [context.user for context in scene.launch.contexts] == ["bob"]
    assert scene.harness.box.texts[-2:] == ["Launched", "You are welcome"]


async def test_two_people_without_ids_are_two(store: Store) -> None:
    """The platform keeps back who they are, so neither answers for the other."""
    scene = Scene(store, Step("One"), Step("Two"), first=None)
    await scene.accept("first", "m1", "", group=True)
    await scene.accept("second", "m2", "", group=True)
    await scene.harness.runner.process(HERE)
    assert scene.harness.box.texts == ["One", "Two"]


async def test_a_pressed_choice_decides_nothing(store: Store) -> None:
    """The buttons of an earlier answer are still there: a yes among them is a message, and waits
    for the decision."""
    scene = Scene(store, Step("Launched"))
    await scene.say("launch it", "m1")
    pressed = InboundEvent(
        Message("choice:C1:1.1", "user", (Text("yes"),), WRITTEN_AT, Author("u1")), action=SAY
    )
    assert await scene.harness.intake(HERE, pressed)
    await scene.harness.runner.process(HERE)
    assert scene.launch.contexts == []
    assert await scene.harness.question() is not None
    await scene.press(True, "p1")
    assert asked(scene) == ["launch it", "yes"]
