"""Questions that do not reach anybody: the call is not made, and nothing else is decided by
that."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.errors import DeliverLater
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import Keys
from tests.bot.features.approvals.test_approvals import LAUNCH, Scene
from tests.bot.harness import HERE


async def test_a_question_that_is_decided_is_not_asked_any_more(store: Store) -> None:
    """It was stopped while the platform was away; the question of the next turn is the only one
    that people see."""
    scene = Scene(store, LAUNCH, Step("Launched"))
    scene.harness.box.failures = [DeliverLater("busy", after=0)] * 50
    for number, words in enumerate(("launch it", "/stop", "launch it now")):
        await scene.say(words, f"m{number}")
    scene.harness.box.failures.clear()
    await scene.harness.runner.process(HERE)
    assert scene.harness.box.texts[:2] == ["Not allowed: launch. (U1)", "Stopped."]
    open_question = await scene.harness.question()
    assert open_question is not None
    assert open_question.key == scene.question
    await scene.press(True, "p1")
    assert (scene.harness.box.texts[-1], len(scene.launch.contexts)) == ("Launched", 1)
    assert await store.dead_letters.read() == []


async def test_a_question_whose_turn_cannot_be_read_is_not_asked(
    store: Store, redis: Redis
) -> None:
    """The turn is given up, and its people get an apology."""
    scene = Scene(store)
    scene.harness.box.failures = [DeliverLater("busy", after=60)]
    await scene.say("launch it", "m1")
    await redis.lset(Keys(HERE).journal, -1, "parked 0:not JSON")
    for _ in range(2):
        await scene.harness.runner.process(HERE)
        await redis.hset(Keys(HERE).of("turn"), "retry_at", 0)
    await scene.harness.runner.process(HERE)
    assert scene.harness.box.texts == [
        "Something went wrong on my side, so I have no answer. Please try again."
    ]
    assert [letter.reason for letter in await store.dead_letters.read()] == [
        "failed 3 times: DecodeError"
    ]
