"""Edits in LINE of questions whose late answers wait, after other turns: only the new words are
answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.conversation.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.channels.line.late_turns import (
    BUTTON,
    EARLIER,
    LATE_IN_GROUP,
    LATE_S,
    SENT,
    WAITING,
    held_step,
    running,
    ways,
)
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, JSON, USER, addressed_message, event, text_message
from tests.fakes.tools import Echo, Launch

TARO = f"U{'2' * 32}"


def edit(question: JSON, text: str) -> JSON:
    return event("messageEdited", GROUP, message=question["message"] | {"text": f"@Kaiwa {text}"})


def in_group(fake: LineFake, words: str, user: str = USER) -> JSON:
    return fake.event(place=GROUP, user=user, message=addressed_message(words))


async def ask_late(here: LinePipeline, question: JSON) -> None:
    """A question whose answer is kept."""
    await here.receive(question)
    here.wait(LATE_S)
    await here.process()
    await here.runner.process(LATE_IN_GROUP)


Asked = tuple[LinePipeline, JSON]


@asynccontextmanager
async def two_questions(
    store: Store, fake: LineFake, *steps: Step, tool: Echo | None = None
) -> AsyncIterator[Asked]:
    """The first one's answer is kept, and another turn has ended since."""
    async with open_pipeline(
        store, fake, steps, *([tool] if tool else []), line_push="never"
    ) as here:
        first, second = in_group(fake, "Wether?"), in_group(fake, "hi", TARO)
        await ask_late(here, first)
        await here.hear(second)
        yield here, first


async def test_an_edited_question_is_answered_anew_though_another_turn_has_ended(
    store: Store, fake: LineFake
) -> None:
    """The button brings the new answer, once, and the history has no trace of the old one."""
    steps = Step("What?"), Step("Hello Taro"), Step("Sunny.")
    async with two_questions(store, fake, *steps) as (here, first):
        await here.hear(edit(first, "Weather?"))
        await here.hear(fake.press(BUTTON))
        await here.hear(fake.press(BUTTON))
    assert [words[: len(SENT)] for _, words in ways(fake)] == [
        WAITING[: len(SENT)],
        "Hello Taro",
        "Sunny.",
        SENT,
    ]
    said = [message.text for message in await read_history(store, IN_GROUP)]
    assert said == ["hi", "Hello Taro", "Weather?", "Sunny."]
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
        await here.hear(fake.press(BUTTON))
    assert [words for _, words in ways(fake)] == [WAITING, WAITING, "Hello Taro", "Sunny."]


async def test_an_edit_that_a_turn_of_tools_meets_waits_for_its_end(
    store: Store, fake: LineFake
) -> None:
    """It joins no turn that answers something else."""
    calls = Step(calls=(ToolCall("c1", "echo", {"text": "x"}),), gate=asyncio.Event())
    steps = [Step("What?"), calls, Step("Hello Taro"), Step("Sunny.")]
    async with open_pipeline(store, fake, steps, line_push="never") as here:
        first, second = in_group(fake, "Wether?"), in_group(fake, "hi", TARO)
        await ask_late(here, first)
        await here.receive(second)
        async with running(here, calls, IN_GROUP):
            await here.receive(edit(first, "Weather?"))
        await here.hear(fake.press(BUTTON))
    assert [words for _, words in ways(fake)] == [WAITING, "Hello Taro", "Sunny."]


async def test_behind_an_open_question_no_old_words_are_fetched(
    store: Store, fake: LineFake
) -> None:
    """Somebody else has to decide first."""
    steps = [
        Step("What?"),
        Step(calls=(ToolCall("c1", "launch", {}),)),
        Step("Launched"),
        Step("Sunny."),
    ]
    async with open_pipeline(store, fake, steps, Launch(), line_push="never") as here:
        first = in_group(fake, "Wether?")
        await ask_late(here, first)
        await here.hear(in_group(fake, "please launch it", TARO))
        await here.hear(edit(first, "Weather?"))
        await here.hear(fake.press(BUTTON))
        assert ways(fake)[2:] == [("reply", WAITING)]
        await here.hear(fake.press("Yes", TARO))
        await here.hear(fake.press(BUTTON))
    assert [words for _, words in ways(fake)[3:]] == ["Launched", "Sunny."]


async def test_tools_are_not_called_again_for_an_edited_question(
    store: Store, fake: LineFake
) -> None:
    """The turn goes on with their results."""
    echo = Echo()
    calls = Step(calls=(ToolCall("c1", "echo", {"text": "x"}),))
    steps = calls, Step("What?"), Step("Hello Taro"), Step("Sunny.")
    async with two_questions(store, fake, *steps, tool=echo) as (here, first):
        await here.hear(edit(first, "Weather?"))
        roles = [message.role for message in here.model.requests[-1].messages]
        assert roles == ["user", "model", "user", "model", "tool"]
        await here.hear(fake.press(BUTTON))
    assert (len(echo.contexts), fake.texts[-1]) == (1, ["Sunny."])


async def test_two_edited_questions_are_both_answered_anew(store: Store, fake: LineFake) -> None:
    """One after the other, though their edits came together."""
    steps = [Step("one"), Step("two"), Step("three"), Step("one anew"), Step("two anew")]
    async with open_pipeline(store, fake, steps, line_push="never") as here:
        await ask_late(here, first := in_group(fake, "1?"))
        await ask_late(here, second := in_group(fake, "2?"))
        await here.hear(in_group(fake, "3?", TARO))
        await here.hear(edit(first, "1!"), edit(second, "2!"))
        await here.hear(fake.press(BUTTON))
        await here.hear(fake.press(EARLIER))
    assert [words for _, words in ways(fake)[2:]] == ["three", "one anew", "two anew"]


@pytest.mark.parametrize("edits", [10, 11])
async def test_who_edits_for_ever_gets_the_answer_to_the_tenth_edit(
    store: Store, fake: LineFake, edits: int
) -> None:
    """Also where another turn ends after each edit."""
    others = [
        step for number in range(11) for step in (Step(f"answer {number}"), Step("Hello Taro"))
    ]
    async with open_pipeline(store, fake, others, line_push="never") as here:
        first = in_group(fake, "v0")
        await ask_late(here, first)
        await here.hear(in_group(fake, "hi", TARO))
        for number in range(1, edits + 1):
            await here.hear(edit(first, f"v{number}"))
            if number <= 10:
                await here.hear(in_group(fake, "hi", TARO))
        await here.hear(fake.press(BUTTON))
    assert fake.texts[-1] == ["answer 10"]
    assert len(await store.late_answers.read(IN_GROUP)) == 0


async def test_a_process_that_dies_after_the_edit_leaves_it_to_the_next(
    store: Store, fake: LineFake
) -> None:
    """The old answer is gone, and the new one comes once."""
    held = held_step("never sent")
    async with two_questions(store, fake, Step("What?"), Step("Hello Taro"), held) as (
        killed,
        first,
    ):
        await killed.receive(edit(first, "Weather?"))
        turn = asyncio.create_task(killed.runner.process(IN_GROUP))
        async with asyncio.timeout(10):
            await held.at_gate.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert await store.late_answers.read(IN_GROUP) == []
        async with open_pipeline(store, fake, [Step("Sunny.")], line_push="never") as other:
            other.ahead_ms = killed.ahead_ms
            await other.runner.process(IN_GROUP)
            await other.hear(fake.press(BUTTON))
            assert other.asked().text == "Weather?"
    assert fake.texts[-1] == ["Sunny."]


async def test_a_question_whose_turn_the_history_has_lost_keeps_its_answer(
    store: Store, fake: LineFake
) -> None:
    """After /reset nothing is left to go on with."""
    async with two_questions(store, fake, Step("What?"), Step("Hello Taro")) as (here, first):
        await here.hear(in_group(fake, "/reset", TARO))
        await here.hear(edit(first, "Weather?"))
        await here.hear(fake.press(BUTTON))
    assert fake.texts[-1] == ["What?"]


async def test_an_edit_of_another_message_leaves_a_late_answer(
    store: Store, fake: LineFake
) -> None:
    """One that called nobody, say."""
    async with two_questions(store, fake, Step("What?"), Step("Hello Taro")) as (here, _):
        await here.hear(event("messageEdited", GROUP, message=text_message("Oh")))
        await here.hear(fake.press(BUTTON))
    assert fake.texts[-1] == ["What?"]
