"""Questions that are edited while their late answers wait."""

from __future__ import annotations

from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP
from tests.bot.channels.line.slow_turns import held_step, running, ways
from tests.bot.features.late_answers.late_turns import (
    BUTTON,
    LATE_IN_GROUP,
    LATE_S,
    SENT,
    WAITING,
)
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, USER, event

TARO = f"U{'2' * 32}"


def edit(question: JSON, text: str) -> JSON:
    return event("messageEdited", GROUP, message=question["message"] | {"text": f"@Kaiwa {text}"})


def in_group(fake: LineFake, words: str, user: str = USER) -> JSON:
    return fake.mention(words, user=user)


async def ask_late(here: LinePipeline, question: JSON) -> None:
    """A question whose answer is kept."""
    await here.receive(question)
    here.wait(LATE_S)
    await here.process()
    await here.runner.process(LATE_IN_GROUP)


async def test_an_edited_question_is_answered_anew_though_another_turn_has_ended(
    store: Store, fake: LineFake
) -> None:
    """The button brings the new answer, once, and the history has no trace of the old one."""
    steps = [Step("What?"), Step("Hello Taro"), Step("Sunny.")]
    async with open_pipeline(store, fake, steps, line_push="never") as here:
        await ask_late(here, first := in_group(fake, "Wether?"))
        await here.converse(in_group(fake, "hi", TARO))
        await here.converse(edit(first, "Weather?"))
        await here.converse(fake.press(BUTTON))
        await here.converse(fake.press(BUTTON))
    assert [words[: len(SENT)] for _, words in ways(fake)] == [
        WAITING[: len(SENT)],
        "Hello Taro",
        "Sunny.",
        SENT,
    ]
    spoken = [message.text for message in await read_history(store, IN_GROUP)]
    assert spoken == ["hi", "Hello Taro", "Weather?", "Sunny."]
    assert await store.dead_letters.read() == []


async def test_a_press_meanwhile_does_not_bring_the_old_words(store: Store, fake: LineFake) -> None:
    """The edit waits for the end of somebody else's turn; then the question is answered anew."""
    held = held_step("Hello Taro")
    async with open_pipeline(
        store, fake, [Step("What?"), held, Step("Sunny.")], line_push="never"
    ) as here:
        first, second = in_group(fake, "Wether?"), in_group(fake, "hi", TARO)
        await ask_late(here, first)
        await here.receive(second)
        async with running(here, held, IN_GROUP):
            await here.receive(edit(first, "Weather?"))
            await here.receive(fake.press(BUTTON))
            await here.runner.process(LATE_IN_GROUP)
        await here.converse(fake.press(BUTTON))
    assert [words for _, words in ways(fake)] == [WAITING, WAITING, "Hello Taro", "Sunny."]


async def test_a_question_whose_turn_the_history_has_lost_keeps_its_answer(
    store: Store, fake: LineFake
) -> None:
    """After /reset nothing is left to go on with."""
    async with open_pipeline(store, fake, [Step("What?")], line_push="never") as here:
        await ask_late(here, first := in_group(fake, "Wether?"))
        await here.converse(in_group(fake, "/reset", TARO))
        await here.converse(edit(first, "Weather?"))
        await here.converse(fake.press(BUTTON))
    assert fake.texts[-1] == ["What?"]
