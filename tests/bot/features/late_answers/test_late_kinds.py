"""Late answers of every kind, and turns that change hands; a turn in time pays nothing for them.
Translations are those of ``bot.features.interpreter``."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import Delivery, InboundEvent, KeptDelivery, Reply
from bot.errors import StoreUnavailable
from bot.features.late_answers.fetches import fetch_button
from bot.features.polls.poll import Poll
from bot.features.polls.tools import StartPoll
from bot.pipeline.turn import MAX_STARTS
from bot.providers import MediaSupport
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text, ToolCall, encode
from tests.bot.channels.line.pipeline import open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, open_rig
from tests.bot.channels.line.slow_turns import (
    WAIT_S,
    held_step,
    ignore,
    question,
    running,
    ways,
)
from tests.bot.features.entering import entered
from tests.bot.features.late_answers.late_turns import (
    BUTTON,
    EARLIER,
    LATE_HERE,
    LATE_IN_GROUP,
    LATE_S,
    SENT,
    WAITING,
    answer_late,
    shown,
    stored_answer,
)
from tests.bot.harness import ours, texts
from tests.bot.store.turns import key, leased
from tests.fakes.cut_wire import Cut, CutWire
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, USER, addressed_message, event, text_message, unsend
from tests.fakes.stored_files import CHART, LocalFiles
from tests.fakes.tools import Launch
from tests.scripts import SCRIPT_NAMES
from tests.waiting import until, until_true
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

TARO = f"U{'2' * 32}"
SCRIPTS_OF_A_TURN = {"accept", "open", "commit", "take_head"}
ASKED = "I am waiting for you: please answer my question above."


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn looks at the channel's clock all the time: what has come before its address expires
    has come in time, however slow the machine is."""
    monkeypatch.setattr("bot.pipeline.answer.LOOK_S", 0.02)


def launch() -> Step:
    """A call that acts, made when the gate is opened."""
    return Step(calls=(ToolCall("c1", "launch", {"what": "rocket"}),), gate=asyncio.Event())


@pytest.mark.parametrize("answer", ["button", "words"])
async def test_a_late_question_is_fetched_and_answered(
    store: Store, fake: LineFake, answer: str
) -> None:
    """The call is made once, and its answer comes by the token of the decision."""
    step, tool = launch(), Launch()
    async with open_pipeline(
        store, fake, [step, Step("Launched")], tool, line_push="never"
    ) as here:
        await answer_late(here, step, question(fake, "please launch it"))
        assert ways(fake) == [("reply", WAITING)]
        await here.converse(fake.press(BUTTON))
        assert list(fake.sent[1].buttons) == ["Yes", "No"]
        await here.converse(fake.press(BUTTON))
        assert fake.texts[2] == [ASKED]
        if answer == "words":
            fake.advance(2)  # to be written after the question could be read
        await here.converse(fake.press("Yes") if answer == "button" else question(fake, "yes"))
        assert (len(tool.contexts), ways(fake)[3:]) == (1, [("reply", "Launched")])
        assert await store.outbox.kept(IN_PRIVATE) == []


@pytest.mark.long
async def test_a_late_question_that_is_over_is_not_asked(store: Store, fake: LineFake) -> None:
    """Its deadline has passed; what became of it is fetched instead."""
    step, tool = launch(), Launch()
    steps = [step, Step("Nobody decided.")]
    async with open_pipeline(store, fake, steps, tool, approval_ttl_s=1, line_push="never") as here:
        await answer_late(here, step, question(fake, "please launch it"))

        async def is_over() -> bool:
            await here.runner.process(IN_PRIVATE)
            return len(await store.outbox.kept(IN_PRIVATE)) == 2

        await until_true(is_over)
        await here.converse(fake.press(BUTTON))
        assert (tool.contexts, ways(fake)[1:]) == ([], [("reply", "Nobody decided.")])
        assert await store.outbox.kept(IN_PRIVATE) == []
    assert await store.dead_letters.read() == []


async def test_a_late_poll_comes_with_its_buttons(store: Store, fake: LineFake) -> None:
    """Below the words of the answer."""
    food = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}
    step = Step(calls=(ToolCall("c1", "start_poll", food),), gate=asyncio.Event())
    tools = ToolMap([ValidatedTool(StartPoll(), *read_schemas("start_poll"))])
    async with open_pipeline(
        store, fake, [step, Step("Please vote.")], toolset=tools, line_push="never"
    ) as here:
        await answer_late(here, step, question(fake))
        await here.converse(fake.press(BUTTON))
    assert fake.sent[-1].texts[0] == "Please vote."
    assert list(fake.sent[-1].buttons) == ["1 Sushi", "2 Curry", "End the poll"]


@pytest.mark.parametrize(("is_stored", "types"), [(True, ["text", "image"]), (False, ["text"])])
async def test_a_late_answer_shows_the_pictures_that_are_left(
    fake: LineFake, is_stored: bool, types: list[str]
) -> None:
    """They are kept for a day, and the answer for seven; a picture that is gone is told in
    words."""
    files = LocalFiles()
    if not is_stored:
        files.stored.clear()
    async with open_rig(fake, files=files) as rig:
        address = encode(rig.address(fake.token())).decode()
        brings = (KeptDelivery(IN_PRIVATE, "turn_1_1"),)
        reply = Reply("Here:", files=(CHART,), keep="if_free")
        delivery = Delivery("fetch_1", "1", reply, address, 1, asker=USER, brings=brings)
        await rig.line.deliver(LATE_HERE, delivery, ours)
    assert [message["type"] for message in fake.sent[0].messages] == types
    assert (CHART.text in fake.texts[0][0]) is not is_stored


async def test_the_button_for_an_earlier_answer_stands_below_whatever_comes_last(
    fake: LineFake,
) -> None:
    """LINE shows the quick replies of the last message alone."""
    poll = Poll("poll_1", "Where?", ("Sushi", "Curry"), (0, 0))
    async with open_rig(fake, files=LocalFiles()) as rig:
        for reply in (
            Reply("Hi", files=(CHART,)),
            Reply("Hi", card=poll.card(texts())),
            Reply("word " * 9_000),
        ):
            address = encode(rig.address(fake.token())).decode()
            earlier = fetch_button("earlier", USER, texts(), "en")
            delivery = Delivery(
                "turn_1_1", "turn_1", replace(reply, buttons=(earlier,)), address, 1
            )
            await rig.line.deliver(IN_PRIVATE, delivery, ours)
            *above, last = fake.sent[-1].messages
            assert not any("quickReply" in message for message in above)
            assert last["quickReply"]["items"][-1]["action"]["label"] == EARLIER


@pytest.mark.long
@pytest.mark.usefixtures("looks_often")
async def test_a_process_that_has_lost_its_turn_spends_no_token(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """It was paused; the next process has answered in time."""
    step = held_step()
    async with open_pipeline(store, fake, [step], line_push="never") as paused:
        await paused.receive(question(fake))
        turn = asyncio.create_task(paused.runner.process(IN_PRIVATE))
        await until(step.at_gate.is_set, WAIT_S)
        await redis.delete(key("lease", IN_PRIVATE))
        await leased(store, IN_PRIVATE)
        paused.wait(LATE_S)
        async with asyncio.timeout(WAIT_S):
            await turn
        assert (fake.sent, await store.outbox.head(LATE_HERE)) == ([], None)


async def test_who_waits_behind_an_open_question_is_told(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """In a group, where somebody else's approval is awaited for longer than a reply token lives."""
    steps = [Step(calls=(ToolCall("c1", "launch", {}),)), Step("Launched"), Step("Hello Taro")]
    async with open_pipeline(store, fake, steps, Launch(), line_push="never") as here:
        await here.converse(fake.mention("please launch it"))
        await here.converse(fake.mention("hi", user=TARO))
        assert list(fake.sent[-1].buttons) == ["Yes", "No"]
        due = await redis.zscore(key("due", IN_GROUP), IN_GROUP)
        assert due is not None
        assert 40_000 < due - await store.now_ms() < 46_000
        here.wait(LATE_S)
        await redis.zadd(key("due", IN_GROUP), {IN_GROUP: 0})
        await here.runner.process(IN_GROUP)
        await here.runner.process(LATE_IN_GROUP)
        assert ways(fake)[-1] == ("reply", WAITING)
        await here.converse(fake.press("Yes"))
        await here.converse(fake.press(BUTTON, TARO))
        assert [words for _, words in ways(fake)[2:]] == ["Launched", "Hello Taro"]


async def test_behind_an_open_question_a_late_answer_goes_with_the_last_of_its_messages(
    store: Store, fake: LineFake
) -> None:
    """In a group: nobody need decide before."""
    steps = [Step("secret"), Step(calls=(ToolCall("c1", "launch", {}),))]
    asked = [fake.mention(words, user=TARO) for words in ("one", "two")]
    async with open_pipeline(store, fake, steps, Launch(), line_push="never") as here:
        await here.receive(*asked)
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_IN_GROUP)
        await here.converse(fake.mention("please launch it"))
        for left, one in enumerate(reversed(asked)):
            assert len(await store.outbox.kept(IN_GROUP)) == 1, left
            unsent = {"messageId": one["message"]["id"]}
            await here.converse(event("unsend", GROUP, TARO, unsend=unsent))
        assert await store.outbox.kept(IN_GROUP) == []
        await here.converse(fake.press(BUTTON, TARO))
    assert "secret" not in str(fake.texts)


async def test_what_cannot_be_read_is_in_nobodys_way(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """A late answer before the one that is fetched, and a step of the journal."""
    async with stored_answer(store, fake) as here:
        await redis.lpush(key("kept", IN_PRIVATE), "not JSON")
        await redis.rpush(key("journal", IN_PRIVATE), "response 0:not JSON")
        await redis.expire(key("journal", IN_PRIVATE), 60)
        await here.converse(fake.press(BUTTON))
        assert ways(fake)[1:] == [("reply", "Hi!")]


@pytest.mark.long
@pytest.mark.usefixtures("looks_often")
async def test_a_store_that_is_away_is_asked_again(
    redis: Redis, store_url: str, fake: LineFake
) -> None:
    """The button waits for it; the turn ends as it would otherwise."""
    wire, step = CutWire(store_url, Cut(), ignore), held_step()
    async with (
        wire.open() as store,
        open_pipeline(store, fake, [step], line_push="never") as here,
    ):
        await here.receive(question(fake))
        turn = asyncio.create_task(here.runner.process(IN_PRIVATE))
        await until(step.at_gate.is_set, WAIT_S)
        wire.drop()
        here.wait(LATE_S)
        with structlog.testing.capture_logs() as logs:
            await until(lambda: [log["event"] for log in logs].count("late.not_told") >= 2)
        assert step.gate is not None
        step.gate.set()
        with pytest.raises(StoreUnavailable):
            await turn


async def test_a_late_command_is_answered_by_the_button_too(store: Store, fake: LineFake) -> None:
    """It waited behind other turns, and no model is asked; /forget me leaves no name with its
    answer."""
    async with open_pipeline(store, fake, [], line_push="never") as here:
        for command in ("/usage", "/forget me"):
            await here.receive(question(fake, command))
            here.wait(LATE_S)
            await here.process()
            await here.runner.process(LATE_HERE)
        usage, forgotten = fake.sent
        assert [list(sent.buttons) for sent in (usage, forgotten)] == [["回答を見る"]] * 2
        assert await store.outbox.kept(IN_PRIVATE) == []


async def test_a_late_sentence_in_place_of_the_models_answer_is_fetched(
    store: Store, fake: LineFake
) -> None:
    """The answer to a sticker's thanks, and to a recording that the model cannot hear."""
    thanks = {
        "id": "9001",
        "type": "sticker",
        "packageId": "1",
        "stickerId": "2",
        "keywords": ["thanks"],
    }
    voice = {"id": "9002", "type": "audio", "duration": 1, "contentProvider": {"type": "line"}}
    async with open_pipeline(store, fake, [], line_push="never") as here:
        here.model.media = MediaSupport()
        for message in (thanks, voice):
            await here.receive(fake.event(message=message))
            here.wait(LATE_S)
            await here.process()
            await here.runner.process(LATE_HERE)
            await here.converse(fake.press("回答を見る"))
    waiting = texts().get("late.waiting", "ja")
    cannot_receive = texts().get("reply.cannot_audio", "ja")
    assert [words for _, words in ways(fake)] == [
        waiting,
        "どういたしまして😊",
        waiting,
        cannot_receive,
    ]


async def test_the_late_apology_for_a_turn_that_was_given_up_is_fetched(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """Its processes were killed before they had spent the token."""
    async with open_pipeline(store, fake, [], line_push="never") as here:
        await here.receive(question(fake))
        for _ in range(MAX_STARTS):
            await store.journal.begin(await leased(store, IN_PRIVATE), "turn_1")
            await redis.delete(key("lease", IN_PRIVATE))
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_HERE)
        await here.converse(fake.press(BUTTON))
    assert [words.partition(",")[0] for _, words in ways(fake)] == [
        WAITING,
        "Something went wrong on my side",
    ]


async def test_the_answer_to_what_was_taken_back_is_not_fetched(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """Other late answers stay, and what cannot be read is in nobody's way."""
    steps = [Step("one"), Step("two")]
    async with open_pipeline(store, fake, steps, line_push="never") as here:
        asked = [question(fake), question(fake)]
        for each in asked:
            await here.receive(each)
            here.wait(61)
            await here.process()
        await redis.rpush(key("kept", IN_PRIVATE), "not JSON")
        await here.converse(unsend(asked[0]))
        kept = await store.outbox.kept(IN_PRIVATE)
        assert [b"two" in one for one in kept] == [True, False]


async def test_what_is_taken_back_behind_the_turn_of_another_is_not_fetched(
    store: Store, fake: LineFake
) -> None:
    """In a group, where that turn has not read the retraction."""
    step = held_step("Hello Taro")
    asked = fake.mention("hi")
    async with open_pipeline(store, fake, [Step("secret"), step], line_push="never") as here:
        await here.receive(asked)
        here.wait(LATE_S)
        await here.process()
        await here.runner.process(LATE_IN_GROUP)
        assert len(await store.outbox.kept(IN_GROUP)) == 1
        await here.receive(fake.mention("hi", user=TARO))
        async with running(here, step, IN_GROUP):
            await here.receive(unsend(asked))
            await here.receive(fake.press(BUTTON))
            await here.runner.process(LATE_IN_GROUP)
            assert ways(fake)[1][1].startswith(SENT)
        await here.process()
    assert [words for _, words in ways(fake)[2:]] == ["Hello Taro"]
    assert await store.outbox.kept(IN_GROUP) == []


async def test_a_routine_that_was_approved_is_announced_too(store: Store, fake: LineFake) -> None:
    """Nobody's message began it; the token is that of the press."""
    step, tool = held_step(), Launch()
    calls = Step(calls=(ToolCall("c1", "launch", {}),))
    due = Message("routine_1", "user", (Text("launch it, as every day"),), 1, Author(USER))
    async with open_pipeline(store, fake, [calls, step], tool) as here:
        routine = InboundEvent(due, scheduled="task", target="reminder_1")
        await store.inbox.accept(IN_PRIVATE, due.id, encode(routine))
        await here.runner.process(IN_PRIVATE)
        await here.receive(fake.press("Yes"))
        here.wait(LATE_S)
        async with running(here, step):
            await shown(here)
        assert ways(fake)[1:] == [("reply", WAITING), ("push", "Hi!")]


@pytest.mark.parametrize("is_unsent", [True, False])
async def test_who_awaits_nothing_behind_a_turn_is_not_told(
    store: Store, fake: LineFake, is_unsent: bool
) -> None:
    """In a group: a message that was taken back, and one for the interpreter."""
    step, words = held_step(), addressed_message("Oops") if is_unsent else text_message("hello all")
    asked, behind = (fake.mention("hi", user=user) for user in (USER, TARO))
    async with open_pipeline(store, fake, [step], line_push="never") as here:
        await here.converse(fake.mention("/interpret en ja"))
        fake.sent.clear()
        await here.receive(asked, behind | {"message": words})
        if is_unsent:
            await here.receive(event("unsend", GROUP, TARO, unsend={"messageId": words["id"]}))
        here.wait(LATE_S)
        async with running(here, step, IN_GROUP):
            await shown(here, LATE_IN_GROUP)
        await here.runner.process(LATE_IN_GROUP)
        assert ways(fake) == [("reply", WAITING)]


async def test_nobody_is_told_to_wait_for_a_translation(store: Store, fake: LineFake) -> None:
    """Neither by a button while a turn keeps it waiting, nor by the press of an old one; a command
    is awaited."""
    first, second = held_step(), held_step()
    async with open_pipeline(
        store, fake, [first, second, Step("translated")], line_push="never"
    ) as here:
        await answer_late(here, first, fake.mention("hi", user=TARO), IN_GROUP)
        await here.converse(fake.press(BUTTON, TARO))
        old_button = fake.press(BUTTON, TARO)
        await here.converse(fake.mention("/interpret en ja"))
        to_bot, aside, command = (
            fake.mention("hello"),
            fake.text("good morning", GROUP, TARO),
            fake.text("/help", GROUP, USER),
        )
        await here.receive(to_bot, aside, command)
        here.wait(LATE_S)
        async with running(here, second, IN_GROUP):
            await shown(here, LATE_IN_GROUP, cards=2)
            await here.converse(old_button)
            assert fake.texts[-1][0].startswith(SENT)
    tokens = [request.body["replyToken"] for request in fake.calls("reply")]
    assert [event["replyToken"] in tokens for event in (to_bot, aside, command)] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("push", ["auto", "never"])
async def test_a_turn_in_time_makes_no_further_request(
    redis: Redis, store_url: str, fake: LineFake, push: str
) -> None:
    """One script for each step, as without late answers, and nothing of the feature runs."""
    wire = CutWire(store_url, Cut(), ignore)
    async with (
        wire.open() as store,
        open_pipeline(store, fake, [Step("Hi!")] * 2, line_push=push) as here,
    ):
        await here.converse(question(fake))
        wire.requests.clear()
        with entered() as folders:
            await here.converse(question(fake))
    assert "late_answers" not in folders
    # These set small values, the index and traces beside the others, in the same batches.
    beside = ("transaction", "index", "traces.note", "traces.words")
    made = [name for name in wire.requests if name in SCRIPT_NAMES and name not in beside]
    assert sorted(made) == sorted(SCRIPTS_OF_A_TURN)
    assert (
        wire.requests.count("LRANGE") <= 1
    )  # a look at the inbox, where the turn took more than a moment
    assert fake.texts == [["Hi!"]] * 2
