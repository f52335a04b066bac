"""A streamed answer becomes one message with the whole answer, wherever the process that streamed
it died."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bot.channels import Delivery, Reply
from bot.channels.slack.streaming import Stream
from bot.channels.slack.types import Address, write_address
from bot.errors import DeliverLater, LeaseLost
from bot.live_events import AnswerText
from bot.providers import TextDelta
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import encode
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.questions import ASKED, PLACES, Question, in_channel
from tests.bot.channels.slack.rig import TS, Rig, begun_turn
from tests.bot.harness import ours
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import CHANNEL, TEAM, USER
from tests.waiting import until, until_true

START, APPEND, STOP, UPDATE = (
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.update",
)
POST = "chat.postMessage"
DELETE, LOOK = "chat.delete", "conversations.replies"
WORDS = (
    "Let me think about the weather in Tokyo, which is a large city by the sea in the east of "
    "Japan."
)
ANSWER = "**21 °C** and sunny."
NOTE = "slack:stream:turn"
ADDRESS = write_address(Address(CHANNEL, TS, TS, user=USER, team=TEAM))
FIRST = Delivery("turn_1", "turn", Reply(ANSWER), ADDRESS, attempts=1)
MARK = {"event_type": "kaiwa_delivery", "event_payload": {"id": "turn_1"}}
PARAGRAPHS = [f"{number} " + "x" * 600 for number in range(12)]
LONG = "\n\n".join(PARAGRAPHS)
THREAD = f"slack:{TEAM}:{CHANNEL}:{ASKED}"


async def stream(rig: Rig, seen: Callable[[], bool]) -> None:
    """A turn that ends, or is broken off, once something of it is seen."""
    async with begun_turn(rig, AnswerText(WORDS)):
        await until(seen)


async def deliver(rig: Rig, delivery: Delivery = FIRST) -> None:
    await rig.slack.deliver("slack:x", delivery, ours)


@pytest.fixture
async def streamed(fake: SlackFake, rig: Rig) -> Rig:
    """A turn has shown its words and is over."""
    await stream(rig, lambda: fake.shown == [WORDS])
    return rig


async def test_a_streamed_answer_is_one_message(fake: SlackFake, streamed: Rig) -> None:
    """It holds exactly the answer, whatever was shown before, and bears its delivery's id."""
    await deliver(streamed)
    message = fake.messages[CHANNEL][-1]
    assert fake.shown == [ANSWER]
    assert (message["text"], message["metadata"], message["thread_ts"]) == (ANSWER, MARK, TS)
    assert (fake.called(STOP), fake.posted) == ([{"channel": CHANNEL, "ts": message["ts"]}], [])


async def test_a_long_answer_takes_its_first_portion_there(fake: SlackFake, streamed: Rig) -> None:
    """The others are posted after it; each may be tried again."""
    text = "\n\n".join(f"{n} " + "x" * 8_000 for n in range(3))
    split = streamed.slack.split(Reply(text))
    for _ in range(2):
        for number, portion in enumerate(split, 1):
            await deliver(
                streamed, Delivery(f"turn_{number}", "turn", portion, ADDRESS, attempts=2)
            )
    assert fake.shown == [portion.text for portion in split]
    assert len(fake.called(UPDATE)) == 2


async def test_a_delivery_waits_for_a_stream_that_is_being_begun(fake: SlackFake, rig: Rig) -> None:
    """A turn may end while Slack still thinks about its stream: nothing has to be looked for."""
    ended = threading.Event()

    def think() -> None:
        assert ended.wait(10)

    fake.meanwhile[START] = think
    await stream(rig, lambda: len(fake.called(START)) == 1)
    delivering = asyncio.create_task(deliver(rig))
    await asyncio.wait([delivering], timeout=0.05)
    ended.set()
    await delivering
    assert (fake.shown, fake.posted, fake.called(LOOK)) == ([ANSWER], [], [])


async def test_a_restarted_turn_waits_for_what_it_has_begun_before(
    fake: SlackFake, rig: Rig
) -> None:
    """Slack still thinks about the first stream when the turn, now with other words, has ended
    again."""
    may_end = threading.Event()

    def think() -> None:
        assert may_end.wait(10)

    fake.meanwhile[START] = think
    await stream(rig, lambda: len(fake.called(START)) == 1)
    async with begun_turn(rig):
        pass
    delivering = asyncio.create_task(deliver(rig))
    await asyncio.wait([delivering], timeout=0.05)
    may_end.set()
    await delivering
    assert (fake.shown, fake.posted) == ([ANSWER], [])


@pytest.mark.parametrize("method", [STOP, UPDATE])
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_crash_another_process_finishes_the_same_message(
    fake: SlackFake, streamed: Rig, other: Rig, method: str, after: bool
) -> None:
    """Whether or not Slack has carried out what the first was at."""
    fake.hang_up(method, after=after)
    with pytest.raises(DeliverLater, match=method):
        await deliver(streamed)
    await deliver(other, replace(FIRST, attempts=2))
    assert (fake.shown, fake.posted) == ([ANSWER], [])


async def test_a_delivery_that_is_repeated_changes_nothing(
    fake: SlackFake, streamed: Rig, other: Rig
) -> None:
    """The process died between the answer and its own note of it."""
    await deliver(streamed)
    await deliver(other, replace(FIRST, attempts=2))
    assert fake.shown == [ANSWER]


@pytest.mark.parametrize("after", [False, True])
async def test_a_stream_of_unknown_fate_is_looked_for(
    fake: SlackFake, rig: Rig, other: Rig, after: bool
) -> None:
    """Begun without an answer from Slack: found, it becomes the answer; else the answer is
    posted."""
    fake.add_message(
        CHANNEL,
        "1700000000.000050",
        "Old",
        bot_id="B0000000B",
        streaming_state="completed",
        thread_ts=TS,
    )
    fake.add_message(
        CHANNEL,
        "1700000000.000200",
        "Another bot's",
        bot_id="B9",
        streaming_state="x",
        thread_ts=TS,
    )
    fake.add_message(CHANNEL, "1700000000.000300", "Ours", bot_id="B0000000B", thread_ts=TS)
    fake.hang_up(START, after=after)
    await stream(rig, lambda: len(fake.called(START)) == 1)
    await rig.slack.tasks.join()
    assert rig.kv.stored[NOTE] == encode(Stream(TS))
    for attempts in (1, 2):
        await deliver(other, replace(FIRST, attempts=attempts))
    assert fake.shown == ["Old", "Ours", ANSWER]
    assert len(fake.posted) == (0 if after else 1)


async def test_a_look_that_fails_posts_nothing(fake: SlackFake, rig: Rig) -> None:
    """While Slack does not say whether the stream is there."""
    fake.hang_up(START, after=True)
    await stream(rig, lambda: len(fake.called(START)) == 1)
    fake.break_down(LOOK)
    with pytest.raises(DeliverLater, match=LOOK):
        await deliver(rig)
    await deliver(rig, replace(FIRST, attempts=2))
    assert (fake.shown, fake.posted) == ([ANSWER], [])


async def test_a_stream_begun_after_the_answer_is_taken_back(fake: SlackFake, rig: Rig) -> None:
    """The process stood still while another delivered."""
    fake.meanwhile[START] = lambda: rig.kv.stored.update({NOTE: b""})
    await stream(rig, lambda: len(fake.called(START)) == 1)
    await rig.slack.tasks.join()
    assert (fake.shown, fake.called(APPEND)) == ([], [])


async def test_a_stream_found_by_another_process_is_its_own(fake: SlackFake, rig: Rig) -> None:
    """Its note stays as that one has written it."""
    found = encode(Stream(TS, "1800000001.000000", "turn_1"))
    fake.meanwhile[START] = lambda: rig.kv.stored.update({NOTE: found})
    await stream(rig, lambda: len(fake.called(START)) == 1)
    await rig.slack.tasks.join()
    assert (rig.kv.stored[NOTE], fake.shown) == (found, [""])


async def test_a_stream_without_a_timestamp_is_looked_for(fake: SlackFake, rig: Rig) -> None:
    """Slack has been seen to answer so."""
    fake.garble(START, '{"ok": true}', "application/json")
    await stream(rig, lambda: len(fake.called(START)) == 1)
    await deliver(rig)
    assert fake.shown == [ANSWER]


async def test_a_stream_that_has_expired_takes_the_answer(fake: SlackFake, streamed: Rig) -> None:
    """Slack has ended it; it can be changed all the same."""
    fake.expire()
    await deliver(streamed)
    assert (fake.shown, fake.posted) == ([ANSWER], [])


async def test_a_stream_that_was_deleted_is_posted(fake: SlackFake, streamed: Rig) -> None:
    """Once, also where that is tried again."""
    fake.delete(WORDS)
    fake.hang_up(POST, after=True)
    with pytest.raises(DeliverLater):
        await deliver(streamed)
    await deliver(streamed, replace(FIRST, attempts=2))
    assert (fake.shown, fake.called(DELETE)) == ([ANSWER], [])


@pytest.mark.parametrize(
    "error", ["cant_update_message", "edit_window_closed", "block_mismatch", "an_error_of_2030"]
)
async def test_a_stream_that_cannot_be_changed_makes_room(
    fake: SlackFake, streamed: Rig, error: str
) -> None:
    """Half an answer goes, the whole one is posted."""
    fake.fail(UPDATE, error)
    await deliver(streamed)
    assert (fake.shown, len(fake.posted)) == ([ANSWER], 1)


async def test_half_an_answer_that_cannot_go_stays_above_the_whole(
    fake: SlackFake, streamed: Rig
) -> None:
    """Rather that than none."""
    fake.fail(UPDATE, "cant_update_message")
    fake.fail(DELETE, "cant_delete_message")
    await deliver(streamed)
    assert fake.shown == [WORDS, ANSWER]


async def test_one_that_has_just_gone_has_gone(fake: SlackFake, streamed: Rig) -> None:
    """Somebody was faster."""
    fake.fail(UPDATE, "cant_update_message")
    fake.meanwhile[UPDATE] = lambda: fake.delete(WORDS)
    await deliver(streamed)
    assert fake.shown == [ANSWER]


@pytest.mark.parametrize(
    ("method", "error", "reason"),
    [
        (STOP, "internal_error", "chat.stopStream: internal_error"),
        (STOP, "rate_limited", "chat.stopStream: too many calls"),
        (STOP, "invalid_auth", "SLACK_BOT_TOKEN was refused"),
        (STOP, "an_error_of_2030", "chat.stopStream: an_error_of_2030"),
        (UPDATE, "internal_error", "chat.update: internal_error"),
        (UPDATE, "streaming_state_conflict", "chat.stopStream: streaming_state_conflict"),
    ],
)
async def test_passing_trouble_is_waited_for(
    fake: SlackFake, streamed: Rig, method: str, error: str, reason: str
) -> None:
    """Nothing is posted beside a stream that is still there."""
    fake.fail(method, error)
    with pytest.raises(DeliverLater, match=reason):
        await deliver(streamed)
    await deliver(streamed, replace(FIRST, attempts=2))
    assert (fake.shown, fake.posted) == ([ANSWER], [])


async def test_a_removal_that_fails_for_now_is_tried_again(fake: SlackFake, streamed: Rig) -> None:
    """Before anything is posted."""
    for _ in range(2):
        fake.fail(UPDATE, "cant_update_message")
    fake.fail(DELETE, "internal_error")
    with pytest.raises(DeliverLater, match=r"chat\.delete: internal_error"):
        await deliver(streamed)
    await deliver(streamed, replace(FIRST, attempts=2))
    assert (fake.shown, len(fake.posted)) == ([ANSWER], 1)


@pytest.mark.parametrize("note", [b"", b"{", b"[]"])
async def test_a_note_that_says_nothing_is_none(fake: SlackFake, rig: Rig, note: bytes) -> None:
    """The answer is posted."""
    rig.kv.stored[NOTE] = note
    await deliver(rig)
    assert len(fake.posted) == 1


async def test_a_store_that_goes_away_meanwhile_is_waited_for(
    fake: SlackFake, streamed: Rig
) -> None:
    """What can be done twice is done again."""
    fake.fail(UPDATE, "message_not_found")
    fake.meanwhile[UPDATE] = lambda: setattr(streamed.kv, "away", True)
    with pytest.raises(DeliverLater):
        await deliver(streamed)
    assert fake.posted == []


@pytest.mark.parametrize(("character", "most"), [("x", 3_900), ("あ", 1_300), ("&", 780)])
async def test_the_words_of_the_notification_are_not_too_many(
    fake: SlackFake, streamed: Rig, character: str, most: int
) -> None:
    """Slack takes fewer of them than of the answer, and counts bytes and escapes."""
    whole = character * 12_000
    await deliver(streamed, replace(FIRST, reply=Reply(whole)))
    assert (fake.shown, fake.called("chat.delete")) == ([whole], [])
    assert fake.messages[CHANNEL][-1]["text"] == character * most


async def test_a_process_that_has_lost_the_conversation_touches_nothing(
    fake: SlackFake, streamed: Rig
) -> None:
    """Another finishes the stream, or posts."""

    async def lost() -> None:
        raise LeaseLost("x")

    with pytest.raises(LeaseLost):
        await streamed.slack.deliver("slack:x", FIRST, lost)
    assert (fake.shown, fake.called(STOP)) == ([WORDS], [])
    streamed.kv.stored.clear()
    with pytest.raises(LeaseLost):
        await streamed.slack.deliver("slack:x", FIRST, lost)
    assert fake.posted == []


@pytest.fixture
def strict(fake: SlackFake) -> None:
    """Of this text a message holds a quarter."""
    fake.most = len(LONG) // 4 + 100


def whole(fake: SlackFake) -> list[str]:
    """The paragraphs that people see, in their order."""
    return "\n\n".join(fake.shown).split("\n\n")


def asks(fake: SlackFake) -> list[str]:
    """The texts of the messages that ask what people think of the answer."""
    blocks = [
        one.get("blocks", [{}])
        for channel in fake.messages.values()
        for one in channel
        if one.get("bot_id")
    ]
    return [one[0]["text"] for one in blocks if one[-1].get("type") == "context_actions"]


@pytest.mark.usefixtures("strict")
async def test_a_text_that_is_too_long_arrives_in_several_messages(
    store: Store, fake: SlackFake
) -> None:
    """Nothing is lost; only the last one asks for what ``bot.features.feedback`` keeps."""
    question, _, _ = in_channel(fake)
    async with SlackPipeline(store, fake, [Step(LONG)]) as here:
        await here.send(question)
    assert (whole(fake), len(fake.posted) > 3) == (PARAGRAPHS, True)
    assert asks(fake) == [fake.shown[-1]]
    assert ((await store.depths()).dead_letters, await store.leases.due(10)) == (0, [])


@PLACES
@pytest.mark.usefixtures("strict")
async def test_the_message_that_was_streamed_holds_the_first_part(
    store: Store, fake: SlackFake, ask: Callable[[SlackFake], Question]
) -> None:
    """The others follow it."""
    question, _, _ = ask(fake)
    first = PARAGRAPHS[0]
    step = Step(LONG, before=(TextDelta(f"{first}\n"),), gate=asyncio.Event(), gate_after=1)
    async with SlackPipeline(store, fake, [step]) as here:
        await here.post(question)
        processing = asyncio.create_task(here.process())
        await until(lambda: [text.strip() for text in fake.shown] == [first])
        assert step.gate
        step.gate.set()
        await processing
    assert (whole(fake), fake.called("chat.delete"), len(fake.called("chat.startStream"))) == (
        PARAGRAPHS,
        [],
        1,
    )


@pytest.mark.long
@pytest.mark.usefixtures("strict")
async def test_another_process_sends_only_the_parts_that_have_not_arrived(
    store: Store, fake: SlackFake
) -> None:
    """The first one gets no answer to the second part, and dies."""
    question, _, _ = in_channel(fake)

    def hear_nothing() -> None:
        if len(fake.posted) == 1:
            fake.meanwhile.clear()
            fake.hang_up(POST, after=True)

    fake.meanwhile[POST] = hear_nothing
    async with SlackPipeline(store, fake, [Step(LONG)]) as dead:
        await dead.send(question)
        assert len(fake.posted) == 2
    async with SlackPipeline(store, fake) as other:

        async def is_sent() -> bool:
            await other.runner.process(THREAD)
            return not await store.outbox.read(THREAD)

        await until_true(is_sent, 20)
    assert whole(fake) == PARAGRAPHS


@pytest.mark.usefixtures("strict")
async def test_all_parts_go_with_the_message_that_is_taken_back(
    store: Store, fake: SlackFake
) -> None:
    """As one message would."""
    question, _, deletion = in_channel(fake)
    async with SlackPipeline(store, fake, [Step(LONG)]) as here:
        await here.send(question)
        assert whole(fake) == PARAGRAPHS
        await here.send(deletion)
    assert fake.shown == []
