"""A slow answer never ends in silence: over signed webhooks, on a real store, against the strict
stand-in for LINE."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from bot.channels.line.types import data_of
from bot.features.late_answers.fetches import FETCH, fetch_button
from bot.pipeline.journal import read_held
from bot.providers.scripted import Step
from bot.store import Store
from tests.bot.channels.line.pipeline import open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE
from tests.bot.channels.line.slow_turns import (
    held_step,
    question,
    running,
    ways,
)
from tests.bot.features.late_answers.late_turns import (
    BUTTON,
    EARLIER,
    LATE_HERE,
    LATE_IN_GROUP,
    LATE_S,
    SENT,
    WAITING,
    late_turn,
    shown,
    stored_answer,
)
from tests.bot.harness import texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, USER, again, event
from tests.waiting import until, until_true

OTHER = f"U{'2' * 32}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Hello, who are you?",
            [
                "I am still working on your question.",
                "It takes longer than LINE lets me wait.",
                "7 days",
            ],
        ),
        (
            "こんにちは",
            ["ただいま回答を作成しています。", "LINEで待てる時間を超えました。", "7日間"],
        ),
    ],
)
async def test_after_45_seconds_the_token_brings_a_button(
    store: Store, fake: LineFake, text: str, words: list[str]
) -> None:
    """In the question's language, by the question's own token."""
    step, asked = held_step(), question(fake, text)
    async with (
        open_pipeline(store, fake, [step], line_push="never") as here,
        late_turn(here, step, asked),
    ):
        [sent] = fake.sent
        [request] = fake.calls("reply")
        assert (sent.call, sent.to, request.body["replyToken"]) == (
            "reply",
            USER,
            asked["replyToken"],
        )
        assert all(word in sent.texts[0] for word in words)
        assert sent.messages[0]["altText"] == words[0]


async def test_the_clock_runs_out_while_the_model_thinks(store: Store, fake: LineFake) -> None:
    """A turn that begins in time and ends late."""
    step = held_step()
    async with open_pipeline(store, fake, [step], line_push="never") as here:
        await here.receive(question(fake))
        here.wait(44.8)
        async with running(here, step):
            assert fake.sent == []
            await shown(here)
        assert ways(fake) == [("reply", WAITING)]


async def test_never_pushed_an_answer_waits_for_its_press(store: Store, fake: LineFake) -> None:
    """It comes by the press's own token, whole, and once; LINE_PUSH=never."""
    async with stored_answer(store, fake, "word " * 2_000) as here:
        assert ways(fake) == [("reply", WAITING)]
        assert (
            len(await read_held(store, IN_PRIVATE, USER))
            == len(await store.outbox.kept(IN_PRIVATE))
            == 1
        )
        press = fake.press(BUTTON)
        await here.converse(press)
        assert (fake.sent[-1].call, len(fake.sent[-1].messages)) == ("reply", 2)
        await here.converse(again(press))
        assert await store.outbox.kept(IN_PRIVATE) == []
        await here.converse(fake.press(BUTTON))
        assert [way for way, _ in ways(fake)] == ["reply"] * 3
        assert fake.texts[-1][0].startswith(SENT)
        assert fake.calls("push") == []


async def test_pressed_early_it_says_so_again_with_a_new_button(
    store: Store, fake: LineFake
) -> None:
    """While the turn still runs; the new button works like the first."""
    step = held_step()
    async with open_pipeline(store, fake, [step], line_push="never") as here:
        async with late_turn(here, step, question(fake)):
            await here.converse(fake.press(BUTTON))
            await here.converse(fake.press(BUTTON))
            assert ways(fake) == [("reply", WAITING)] * 3
            assert [list(sent.buttons) for sent in fake.sent] == [[BUTTON]] * 3
        await here.converse(fake.press(BUTTON))
        assert ways(fake)[3:] == [("reply", "Hi!")]


async def test_auto_pushes_and_the_button_says_so(store: Store, fake: LineFake) -> None:
    """The quota has room; the card promises it."""
    step = held_step()
    async with open_pipeline(store, fake, [step]) as here:
        async with late_turn(here, step, question(fake)):
            assert "The answer will come by itself" in fake.texts[0][0]
        await here.converse(fake.press(BUTTON))
    assert ways(fake)[:2] == [("reply", WAITING), ("push", "Hi!")]
    assert fake.texts[2][0].startswith(SENT)


async def test_an_answer_that_is_pushed_at_once_comes_alone(store: Store, fake: LineFake) -> None:
    """A command needs no model, and LINE brought it late: no card follows the answer."""
    async with open_pipeline(store, fake, []) as here:
        await here.receive(question(fake, "/help"))
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_HERE)
        assert await store.outbox.head(LATE_HERE) is None
    assert [sent.call for sent in fake.sent] == ["push"]


@pytest.mark.long
async def test_a_card_waits_while_its_answer_is_being_pushed(store: Store, fake: LineFake) -> None:
    """Another worker comes to the card first; it says nothing once the answer is there."""
    fake.slow_s = 0.3
    async with open_pipeline(store, fake, []) as here:
        await here.receive(question(fake, "/help"))
        here.wait(LATE_S)
        answering = asyncio.create_task(here.process())
        await until(lambda: bool(fake.calls("push")))
        await here.runner.process(LATE_HERE)
        assert len(await store.outbox.read(LATE_HERE)) == 1
        await answering

        async def is_over() -> bool:
            await here.runner.process(LATE_HERE)
            return await store.outbox.head(LATE_HERE) is None

        await until_true(is_over)
    assert [sent.call for sent in fake.sent] == ["push"]


async def test_an_answer_that_is_not_worth_a_push_leaves_the_card(
    store: Store, fake: LineFake
) -> None:
    """In a group, to one person alone, as ``bot.features.memory`` answers: the button says that
    nothing waits, and so what to do."""
    async with open_pipeline(store, fake, []) as here:
        await here.receive(fake.mention("/memory"))
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_IN_GROUP)
        await here.converse(fake.press(BUTTON))
    assert [sent.call for sent in fake.sent] == ["reply"] * 2
    assert [
        words[0].startswith(known) for words, known in zip(fake.texts, (WAITING, SENT), strict=True)
    ] == [True] * 2


async def test_a_push_that_fails_leaves_the_card(store: Store, fake: LineFake) -> None:
    """It is tried again in a while, and until then its asker knows."""
    fake.fail("push", 500)
    async with open_pipeline(store, fake, []) as here:
        await here.receive(question(fake, "/help"))
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_HERE)
    assert [(sent.call, *sent.buttons) for sent in fake.sent] == [("reply", "回答を見る")]


async def test_auto_without_quota_keeps_the_answer(store: Store, fake: LineFake) -> None:
    """Whether we count that nothing is left, or LINE says it at the push."""
    fake.limit = fake.used = 5
    step = held_step()
    async with open_pipeline(store, fake, [step]) as here:
        async with late_turn(here, step, question(fake)):
            assert "Press the button in a little while" in fake.texts[0][0]
        assert fake.calls("push") == []
        await here.converse(fake.press(BUTTON))
    assert ways(fake) == [("reply", WAITING), ("reply", "Hi!")]


async def test_a_month_that_ends_at_the_push_loses_nothing(store: Store, fake: LineFake) -> None:
    """Others push with the same account too."""
    fake.limit = 5
    step = held_step()
    async with open_pipeline(store, fake, [step]) as here:
        async with late_turn(here, step, question(fake)):
            fake.used = 5
        assert len(fake.calls("push")) == 1
        await here.converse(fake.press(BUTTON))
    assert ways(fake) == [("reply", WAITING), ("reply", "Hi!")]


async def test_always_pushes_without_a_button(store: Store, fake: LineFake) -> None:
    """LINE_PUSH=always: nobody waits for a token."""
    step = held_step()
    async with open_pipeline(store, fake, [step], line_push="always") as here:
        await here.receive(question(fake))
        here.wait(LATE_S)
        async with running(here, step):

            async def is_reported() -> bool:
                return await store.outbox.head(LATE_HERE) is not None

            await until_true(is_reported)
            await here.runner.process(LATE_HERE)
    assert ways(fake) == [("push", "Hi!")]


async def test_always_answers_by_the_token_where_the_month_ends_at_the_push(
    store: Store, fake: LineFake
) -> None:
    """Others have pushed since the quota was read; the token still works, and nobody has a
    button."""
    fake.limit = 5
    async with open_pipeline(store, fake, [Step("one"), Step("two")], line_push="always") as here:
        await here.converse(question(fake))
        fake.used = 5
        await here.converse(question(fake))

        async def is_settled() -> bool:
            await here.runner.process(IN_PRIVATE)
            return await store.outbox.head(IN_PRIVATE) is None

        await until_true(is_settled)
    assert ways(fake) == [("push", "one"), ("reply", "two")]
    assert await store.outbox.kept(IN_PRIVATE) == []


async def test_in_a_group_only_the_askers_press_counts(store: Store, fake: LineFake) -> None:
    """Others press in vain: nothing is said, stored or paid."""
    step, asked = held_step(), fake.mention("hi")
    async with open_pipeline(store, fake, [step], line_push="never") as here:
        async with late_turn(here, step, asked, IN_GROUP):
            assert "Only the person who asked can fetch the answer." in fake.texts[0][0]
        here.due.clear()
        own = fake.press(BUTTON)
        forged = own | {"postback": {"data": own["postback"]["data"] + "0"}}
        await here.receive(fake.press(BUTTON, OTHER), fake.press(BUTTON, None), forged)
        assert here.due == []
        await here.converse(own)
    assert ways(fake) == [("reply", WAITING), ("reply", "Hi!")]
    assert [sent.to for sent in fake.sent] == [GROUP] * 2


async def test_messages_behind_a_turn_get_their_own_button(store: Store, fake: LineFake) -> None:
    """In a group, where turns of several people follow each other."""
    step = held_step("one")
    events = [fake.mention("hi", user=user) for user in (USER, OTHER)]
    async with open_pipeline(store, fake, [step, Step("two")], line_push="never") as here:
        await here.receive(*events)
        here.wait(LATE_S)
        async with running(here, step, IN_GROUP):
            await shown(here, LATE_IN_GROUP, cards=2)
        assert ways(fake) == [("reply", WAITING)] * 2
        assert {request.body["replyToken"] for request in fake.calls("reply")} == {
            one["replyToken"] for one in events
        }
        await here.converse(fake.press(BUTTON, OTHER))
        assert fake.texts[-1] == ["two"]
        assert (
            len(await read_held(store, IN_GROUP, USER))
            == len(await store.outbox.kept(IN_GROUP))
            == 1
        )


@pytest.mark.long
async def test_a_press_of_unknown_outcome_is_not_repeated(store: Store, fake: LineFake) -> None:
    """LINE took the answer, and the line was cut: the press's token tells so at the next
    attempt."""
    async with stored_answer(store, fake) as here:
        fake.trouble("reply", "cut")
        await here.converse(fake.press(BUTTON))
        assert len(await store.outbox.kept(IN_PRIVATE)) == 1

        async def is_settled() -> bool:
            await here.runner.process(LATE_HERE)
            return await store.outbox.kept(IN_PRIVATE) == []

        await until_true(is_settled)
    assert ways(fake) == [("reply", WAITING), ("reply", "Hi!")]


async def test_a_press_whose_token_is_dead_leaves_the_answer_where_it_is(
    store: Store, fake: LineFake
) -> None:
    """Another press brings it."""
    async with stored_answer(store, fake) as here:
        press = fake.press(BUTTON)
        fake.expire(press["replyToken"])
        await here.converse(press)
        assert await store.outbox.head(LATE_HERE) is None
        await here.converse(fake.press(BUTTON))
    assert ways(fake) == [("reply", WAITING), ("reply", "Hi!")]


async def test_an_answer_that_line_refuses_is_given_up(store: Store, fake: LineFake) -> None:
    """It becomes a dead letter of its own conversation, and no press finds it again."""
    async with stored_answer(store, fake) as here:
        fake.fail("reply", 400, "The request body has 1 error")
        await here.converse(fake.press(BUTTON))
        [dead] = await store.dead_letters.read()
        assert (dead.conversation, b"Hi!" in (dead.delivery or b"")) == (IN_PRIVATE, True)
        await here.converse(fake.press(BUTTON))
    assert fake.texts[-1][0].startswith(SENT)


async def test_the_next_answer_offers_the_earlier_one(store: Store, fake: LineFake) -> None:
    """Also where no button could be shown, as LINE was away or the token too old; in the order of
    the questions."""
    async with open_pipeline(
        store, fake, [Step("one"), Step("two"), Step("three")], line_push="never"
    ) as here:
        for _ in range(2):
            await here.receive(question(fake))
            here.wait(61)
            await here.process()
        assert (fake.sent, len(await store.outbox.kept(IN_PRIVATE))) == ([], 2)
        await here.converse(question(fake))
        assert list(fake.sent[-1].buttons) == [EARLIER]
        await here.converse(fake.press(EARLIER))
        assert list(fake.sent[-1].buttons) == [EARLIER]
        await here.converse(fake.press(EARLIER))
        assert fake.sent[-1].buttons == {}
    assert ways(fake) == [("reply", "three"), ("reply", "one"), ("reply", "two")]


@pytest.mark.parametrize("leaving", ["forget", "unfollow"])
async def test_a_late_answer_goes_with_its_asker(
    store: Store, fake: LineFake, leaving: str
) -> None:
    """/forget me and blocking the bot delete it."""
    async with stored_answer(store, fake, "secret") as here:
        await here.converse(
            event("unfollow") if leaving == "unfollow" else question(fake, "/forget me")
        )
        assert await store.outbox.kept(IN_PRIVATE) == []
        await here.converse(fake.press(BUTTON))
    assert "secret" not in str(fake.texts)


async def test_forget_me_leaves_the_answers_of_others(store: Store, fake: LineFake) -> None:
    """In a group; and when the bot leaves, nothing is kept."""
    async with open_pipeline(store, fake, [Step("one"), Step("two")], line_push="never") as here:
        for user in (USER, OTHER):
            await here.receive(fake.mention("hi", user=user))
            here.wait(61)
            await here.process()
        await here.converse(fake.mention("/forget me"))
        assert (
            len(await read_held(store, IN_GROUP, OTHER))
            == len(await store.outbox.kept(IN_GROUP))
            == 1
        )
        await here.converse(event("leave", GROUP, None))
        assert await store.outbox.kept(IN_GROUP) == []


async def test_each_press_of_one_moment_is_answered(store: Store, fake: LineFake) -> None:
    """In a group, where many wait for an answer."""
    users = [f"U{number:032}" for number in range(30)]
    values = [fetch_button("earlier", user, texts(), "en").value for user in users]
    data = [data_of(FETCH, value) for value in values]
    presses = [
        fake.event("postback", GROUP, user, postback={"data": each})
        for user, each in zip(users, data, strict=True)
    ]
    async with open_pipeline(store, fake, [], line_push="never") as here:
        await here.converse(*presses)
    assert {request.body["replyToken"] for request in fake.calls("reply")} == {
        press["replyToken"] for press in presses
    }


async def test_what_answers_no_message_is_not_kept(store: Store, fake: LineFake) -> None:
    """Of somebody whom LINE does not name, nobody could press."""
    unknown = fake.mention("hi", user=None)
    async with open_pipeline(store, fake, [Step("Hi!")], line_push="never") as here:
        await here.receive(unknown)
        here.wait(LATE_S)
        with structlog.testing.capture_logs() as logs:
            await here.process()
        assert await store.outbox.kept(IN_GROUP) == []
    assert [log["event"] for log in logs if log["event"].startswith("delivery")] == [
        "delivery.failed"
    ]
    assert len(await store.dead_letters.read()) == 1
