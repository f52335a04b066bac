"""Reminders and routines in a conversation: set by a call, said at their time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import Delivery, InboundEvent, Reach, Reply
from bot.errors import DeliverOnPress, DeliveryRefused, ModelError
from bot.features.forgetting.deletion import Deletion
from bot.features.reminders.clock import LATE_S, READ_LIMIT, ReminderClock
from bot.features.reminders.feature import Reminders
from bot.features.reminders.personal import MOST, MOST_HOURLY, TOO_MANY_HOURLY, PersonalReminders
from bot.features.reminders.reminder import MAX_FAILURES, Reminder, StoredReminder, read_reminder
from bot.features.reminders.store import StoredReminders
from bot.features.reminders.tools import CancelReminder, ListReminders, SetReminder
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import SCHEDULED_ID, Author, Message, Text, ToolCall, encode
from tests.bot.harness import HERE, Harness, Mailbox, texts, words
from tests.bot.store.turns import leased
from tests.fixtures_store import endless_keys
from toolset.tool import ToolError, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

THERE, HOURLY = "mailbox:room-0002", "FREQ=HOURLY"
TOKYO = Author("u1", "Hanako", "ja", "Asia/Tokyo")


def reminder_tools() -> ToolMap:
    tools = (SetReminder(), ListReminders(), CancelReminder())
    return ToolMap(ValidatedTool(tool, *read_schemas(tool.name)) for tool in tools)


def setting(**arguments: Any) -> list[Step]:
    """The model sets a reminder and says so."""
    return [Step(calls=(ToolCall("c1", "set_reminder", arguments),)), Step("Set.")]


class Stage:
    """A conversation whose model sets reminders, and the clock that rings them."""

    def __init__(self, store: Store, steps: list[Any], **options: Any) -> None:
        self.store = store
        self.harness = Harness(store, steps, tools=reminder_tools(), **options)
        self.rung: list[tuple[str, str]] = []
        self.clock = ReminderClock(store, texts(), "en", lambda *who: self.rung.append(who))

    async def say(
        self, text: str, message_id: str, author: Author = TOKYO, *, group: bool = False
    ) -> list[str]:
        """What is answered."""
        before = len(self.harness.box.texts)
        at = await self.store.now_ms(HERE)
        await self.harness.arrive(
            InboundEvent(Message(message_id, "user", (Text(text),), at, author), group=group)
        )
        await self.harness.runner.process(HERE)
        return self.harness.box.texts[before:]

    async def make_due(self, late_s: float = 0.0) -> None:
        """Let the time of all reminders here be over by so much."""
        at = await self.store.now_ms(HERE) - int(late_s * 1000) - 1
        stored = await StoredReminders(self.store).read(HERE)
        await StoredReminders(self.store).forget(HERE, None)
        for reminder_id, body in stored.items():
            reminder = replace(read_reminder(body), at=at)
            await StoredReminders(self.store).add(HERE, reminder_id, at, encode(reminder))

    async def ring(self, late_s: float = 0.0) -> list[str]:
        """What is said when the time has come."""
        before = len(self.harness.box.texts)
        await self.make_due(late_s)
        await self.clock.sweep()
        await self.harness.runner.process(HERE)
        return self.harness.box.texts[before:]

    def own(self, number: int) -> PersonalReminders:
        """The reminders of one person in one of many rooms."""
        event, room = InboundEvent(words("m1", "remind me")), f"mailbox:thread-{number}"
        return PersonalReminders(self.harness.runner.services, room, event, Author("u1"))

    async def add(self, number: int, repeat: str = "") -> str:
        """Add one there; why it is refused."""
        at = datetime.now(UTC) + timedelta(hours=1)
        try:
            await self.own(number).add(Reminder(f"r{number}", "x", at, repeat, bool(repeat)))
        except ToolError as error:
            return str(error)
        return ""

    async def stored(self) -> list[StoredReminder]:
        return [
            read_reminder(body) for body in (await StoredReminders(self.store).read(HERE)).values()
        ]


async def test_a_reminder_is_said_at_its_time_and_once(store: Store, redis: Redis) -> None:
    """Without the model; the history holds it, and afterwards nothing is left."""
    stage = Stage(store, setting(text="水を飲む", **{"in": "PT2M"}))
    assert await stage.say("2分後に水を飲むようリマインドして", "m1") == ["Set."]
    (stored,) = await stage.stored()
    assert (stored.text, stored.author.id, stored.zone) == ("水を飲む", "u1", "Asia/Tokyo")
    assert await stage.ring() == ["⏰ 水を飲む"]
    assert stage.rung == [(HERE, "")]
    assert await stage.ring() == []
    assert len(stage.harness.model.requests) == 2
    assert (await stage.harness.past())[-1] == "⏰ 水を飲む"
    assert await stage.stored() == []
    assert await store.leases.due(10) == []
    assert await endless_keys(redis) == []


@pytest.mark.parametrize(
    ("late_s", "ending"),
    [(600, "I was not running.)"), (LATE_S + 60, "UTC"), (LATE_S + 60, "call home")],
)
async def test_what_comes_late_says_so(store: Store, late_s: float, ending: str) -> None:
    """After more than six hours it is only named."""
    stage = Stage(store, setting(text="call home", **{"in": "PT2M"}))
    await stage.say("remind me", "m1", Author("u1"))
    (spoken,) = await stage.ring(late_s)
    planned = datetime.fromtimestamp(datetime.now(UTC).timestamp() - late_s, UTC)
    assert f"lanned for {planned:%Y-%m-%d %H:}" in spoken
    assert "call home" in spoken
    assert ("missed" in spoken) == (late_s > LATE_S)
    assert ending in spoken or ending == "UTC"


async def test_what_waits_behind_a_turn_says_when_it_was_to_come(store: Store) -> None:
    """As behind a question that stays open for an hour."""
    stage = Stage(store, [])
    planned_at = await store.now_ms(HERE) - 600_000
    message = Message(
        f"{SCHEDULED_ID}r1_{planned_at}",
        "user",
        (Text("A reminder:\n"), Text("the oven")),
        planned_at,
        Author("u1"),
    )
    event = InboundEvent(message, action="reminders.due", scheduled="shown", target="r1")
    await stage.harness.arrive(event)
    await stage.harness.runner.process(HERE)
    at = datetime.fromtimestamp(planned_at / 1000, UTC)
    assert stage.harness.box.texts == [f"⏰ the oven\n(Planned for {at:%Y-%m-%d %H:%M}.)"]


async def test_a_routine_is_a_turn_of_its_own_and_comes_again(store: Store) -> None:
    """The model gets the task; the next time is after now, however many were missed."""
    steps = setting(text="Tell me a joke", at="2027-01-04T07:00", repeat="FREQ=DAILY", routine=True)
    stage = Stage(store, [*steps, Step("A joke.")])
    await stage.say("every day at 7 tell me a joke", "m1")
    assert await stage.ring() == ["A joke."]
    assert stage.rung == [(HERE, "u1")]
    asked = stage.harness.model.requests[-1].messages[-1]
    assert asked.text.endswith("Tell me a joke")
    (stored,) = await stage.stored()
    now = await store.now_ms(HERE)
    assert now < stored.at
    at = datetime.fromtimestamp(stored.at / 1000, UTC)
    assert f"{at:%H:%M}" == "22:00"  # 07:00 in Tokyo


async def test_a_late_routine_runs_once_and_says_so(store: Store) -> None:
    """And one that is more than six hours late does not run: one message says what was missed."""
    steps = setting(text="Tell me a joke", at="2027-01-04T07:00", repeat="FREQ=DAILY", routine=True)
    stage = Stage(store, [*steps, Step("A joke.")])
    await stage.say("every day at 7 tell me a joke", "m1", Author("u1"))
    excuse, joke = await stage.ring(3_600)
    assert excuse.startswith("(Planned for ")
    assert joke == "A joke."
    (missed,) = await stage.ring(5 * 86_400)
    assert missed.startswith("⏰ I was not running and missed this, planned for ")
    assert len(stage.harness.model.requests) == 3


async def test_a_routine_that_fails_three_times_rests_and_says_so(store: Store) -> None:
    """A success in between begins the count anew."""
    steps = setting(text="Tell me a joke", at="2027-01-04T07:00", repeat="FREQ=DAILY", routine=True)
    failing = Step(error=ModelError("request_refused", "refused"))
    stage = Stage(store, [*steps, failing, failing, Step("A joke."), failing, failing, failing])
    await stage.say("every day at 7 tell me a joke", "m1", Author("u1"))
    spoken = [await stage.ring() for _ in range(6)]
    assert [len(texts) for texts in spoken] == [1, 1, 1, 1, 1, 2]
    assert "failed three times" in spoken[-1][1]
    assert (await stage.say("/reminders", "m2", Author("u1")))[0].count(
        "stopped after three failures"
    ) == 1
    await stage.clock.sweep()
    assert await store.leases.due(10) == []


REFUSED = DeliveryRefused("chat.postMessage: is_archived")


@pytest.mark.parametrize("routine", [False, True])
async def test_what_repeats_ends_where_it_is_refused_three_times(
    store: Store, routine: bool
) -> None:
    """In a row: a ring that arrives begins the count anew. The operator reads why, once."""
    steps = setting(text="joke", at="2027-01-04T07:00", repeat="FREQ=DAILY", routine=routine)
    stage = Stage(store, [*steps, *[Step("⏰ joke")] * 6 * routine])
    await stage.say("every day a joke", "m1", Author("u1"))
    with structlog.testing.capture_logs() as logs:
        for refused in (True, True, False, True, True):
            stage.harness.box.failures = [REFUSED] * refused
            assert await stage.ring() == ([] if refused else ["⏰ joke"])
        assert len(await stage.stored()) == 1
        stage.harness.box.failures = [REFUSED]
        await stage.ring()
    assert await stage.stored() == []
    assert await StoredReminders(store).due(10) == []
    (ended,) = [entry for entry in logs if entry["event"] == "reminder.ended"]
    assert (ended["cause"], ended["log_level"]) == (str(REFUSED), "warning")
    alerts = [entry["notice"] for entry in logs if entry["event"] == "alert.raised"]
    assert [str(REFUSED) in alert for alert in alerts] == [True, True]
    assert "repeating reminder" in alerts[1]
    assert len(await store.dead_letters.read()) == 5


@pytest.mark.parametrize(
    "failure", [DeliverOnPress("the month's messages are used up"), RuntimeError("crashed")]
)
async def test_what_may_pass_ends_nothing(store: Store, failure: Exception) -> None:
    """A used-up month, and a failure that nobody foresaw."""
    stage = Stage(store, setting(text="joke", at="2027-01-04T07:00", repeat="FREQ=DAILY"))
    await stage.say("every day a joke", "m1", Author("u1"))
    for _ in range(MAX_FAILURES):
        stage.harness.box.failures = [failure]
        assert await stage.ring() == []
    assert len(await stage.stored()) == 1


async def test_one_ring_counts_once_however_often_it_is_refused(store: Store) -> None:
    """As after a crash between the count and the dead letter; what comes after the end finds
    nothing."""
    stage = Stage(store, setting(text="joke", at="2027-01-04T07:00", repeat="FREQ=DAILY"))
    await stage.say("every day a joke", "m1", Author("u1"))
    ((reminder_id, _),) = (await StoredReminders(store).read(HERE)).items()
    reminders = Reminders(stage.harness.runner.services)

    async def refuse(ring: int) -> None:
        answers = ("m1", f"{SCHEDULED_ID}{reminder_id}_{ring}")
        delivery = Delivery("d1", "t1", Reply("x"), answers=answers)
        await reminders.after_delivery(HERE, delivery, "archived")

    for ring in (1, 1, 1, 2, 2):
        await refuse(ring)
    assert [one.refusals for one in await stage.stored()] == [2]
    for _ in range(2):
        await refuse(3)
    assert await stage.stored() == []


async def test_a_reminder_counts_as_a_message_of_its_person(store: Store) -> None:
    """Over the day's limit it is named once a day, however often it repeats; other people have
    their own limit."""
    steps = setting(text="call home", at="2027-01-04T07:00", repeat="FREQ=DAILY")
    stage = Stage(store, [*steps, Step("Hello.")], settings={"daily_user_messages": 2})
    await stage.say("remind me", "m1", Author("u1"))
    assert await stage.ring() == ["⏰ call home"]
    (refusal,) = await stage.ring()
    assert refusal.startswith(
        "It is time for this reminder: call home\nYou have reached today's limit of 2 messages."
    )
    assert await stage.ring() == []
    assert "limit of 2" in (await stage.say("hi", "m2", Author("u1")))[0]
    assert await stage.say("hi", "m3", Author("u2")) == ["Hello."]


async def test_nobody_has_more_than_three_hourly_routines(store: Store) -> None:
    """In all conversations together, also if all are set at once; one that is cancelled makes
    room."""
    stage = Stage(store, [])
    errors = await asyncio.gather(*(stage.add(number, HOURLY) for number in range(10)))
    assert errors.count("") == 3
    assert {error for error in errors if error} == {f"not set: {TOO_MANY_HOURLY}"}
    assert await stage.add(10, "FREQ=HOURLY;INTERVAL=2") == ""
    stored = errors.index("")
    assert await stage.own(stored).cancel(f"r{stored}")
    assert await stage.add(11, HOURLY) == ""
    assert await stage.add(12, HOURLY) != ""


async def test_a_refused_hourly_routine_takes_no_room(store: Store) -> None:
    """Whoever has too many reminders cancels some, and has their three routines."""
    stage = Stage(store, [])
    assert [await stage.add(number, "FREQ=DAILY") for number in range(MOST)] == [""] * MOST
    for number in range(MOST_HOURLY):
        assert f"the user has {MOST} reminders" in await stage.add(100 + number, HOURLY)
    for number in range(MOST_HOURLY):
        assert await stage.own(number).cancel(f"r{number}")
        assert await stage.add(200 + number, HOURLY) == ""


async def test_commands_in_a_reminder_are_only_words(store: Store) -> None:
    """A text that says /reset resets nothing when it comes."""
    stage = Stage(store, setting(text="/reset", **{"in": "PT2M"}))
    await stage.say("remind me", "m1", Author("u1"))
    assert await stage.ring() == ["⏰ /reset"]
    assert len(await stage.harness.past()) > 2


@pytest.mark.parametrize("group", [False, True])
async def test_forget_me_deletes_ones_own_reminders(store: Store, group: bool) -> None:
    """In a group those of others stay."""
    stage = Stage(
        store, [*setting(text="mine", **{"in": "PT2M"}), *setting(text="theirs", **{"in": "PT2M"})]
    )
    await stage.say("remind me", "m1", Author("u1"), group=group)
    if group:
        await stage.say("remind me too", "m2", Author("u2"), group=True)
    await stage.say("/forget me", "m3", Author("u1"), group=group)
    assert [one.text for one in await stage.stored()] == (["theirs"] if group else [])


async def test_whoever_leaves_a_group_takes_their_reminders_along(
    store: Store, redis: Redis
) -> None:
    """Also what has come behind that; those of others stay, and nobody is answered, however often
    it is told."""
    stage = Stage(
        store, [*setting(text="mine", **{"in": "PT2M"}), *setting(text="theirs", **{"in": "PT2M"})]
    )
    await stage.say("remind me", "m1", Author("u1"), group=True)
    await stage.say("remind me too", "m2", Author("u2"), group=True)
    before = len(stage.harness.box.texts), await stage.harness.past()
    gone = InboundEvent(
        Message("l1", "user", (), 1_000), group=True, event="members_left", target="u1 u3"
    )
    assert await stage.harness.intake(HERE, gone)
    assert not await stage.harness.intake(HERE, gone)
    await stage.make_due()
    await stage.clock.sweep()
    await stage.harness.runner.process(HERE)
    assert stage.harness.box.texts[before[0] :] == ["⏰ theirs"]
    assert len(stage.harness.model.requests) == 4
    assert not any("mine" in spoken for spoken in (await stage.harness.past())[len(before[1]) :])
    assert await endless_keys(redis) == []


async def test_nobody_has_more_than_twenty_wherever_they_are(store: Store, redis: Redis) -> None:
    """The model reads why; a cancelled one makes room at once."""
    stage = Stage(store, [])
    errors = await asyncio.gather(*map(stage.add, range(60)))
    assert errors.count("") == MOST
    assert {error for error in errors if error} == {
        f"not set: the user has {MOST} reminders, all conversations together; cancel one first"
    }
    stored = errors.index("")
    refused = next(number for number, error in enumerate(errors) if error)
    assert not await stage.own(stored).cancel("unknown")
    assert await stage.own(stored).cancel(f"r{stored}")
    assert await stage.add(refused) == ""
    assert await stage.add(stored) != ""
    await stage.say("/forget me", "m2", Author("u1"))
    assert await redis.keys("*reminders_of:mailbox:u1") == []


class Mute(Mailbox):
    """A place where nothing can be sent later."""

    async def reach(self, conversation: str, person: str) -> Reach:
        return Reach("press", "nothing can be sent here later")


async def test_where_nothing_can_be_sent_nothing_is_promised(store: Store) -> None:
    """As in LINE with the month's messages used up."""
    stage = Stage(store, setting(text="call home", **{"in": "PT2M"}), box=Mute())
    await stage.say("remind me", "m1", Author("u1"))
    (result,) = stage.harness.model.requests[1].messages[-1].results
    assert "nothing can be sent here later" in result.response["error"]
    assert await stage.stored() == []


async def test_the_list_is_everybodys_own(store: Store) -> None:
    """By command, in the asker's language, for the asker alone; others' are not shown, nor
    cancelled."""
    stage = Stage(store, setting(text="水を飲む", at="2027-01-04T07:00", repeat="FREQ=DAILY"))
    await stage.say("毎日7時に水を飲むようリマインドして", "m1", group=True)
    listed = (await stage.say("リマインダー", "m2", group=True))[0].split("\n")
    assert listed[1] == "・2027-01-04 07:00、繰り返し（FREQ=DAILY）：水を飲む"
    assert "no reminders here" in (await stage.say("/reminders", "m3", Author("u2"), group=True))[0]
    listings = [one.reply for one in stage.harness.box.delivered[1:]]
    assert all(one.private and one.keep == "until_refused" for one in listings)
    assert not any("リマインダー" in words for words in await stage.harness.past())


async def test_a_reminder_that_cannot_be_read_is_left_alone(store: Store) -> None:
    """It is said in the log, and not looked at every second."""
    stage = Stage(store, [])
    at = await store.now_ms(HERE) - 1
    await StoredReminders(store).add(HERE, "r1", at, b"{")
    await stage.clock.sweep()
    assert stage.rung == []
    assert await StoredReminders(store).due(10) == []
    assert await stage.say("/reminders", "m1", Author("u1")) != []


async def test_a_reminder_that_cannot_be_rung_keeps_no_other_from_coming(store: Store) -> None:
    """Its zone is unknown here."""
    stage = Stage(store, setting(text="call home", **{"in": "PT2M"}))
    await stage.say("remind me", "m1", Author("u1"))
    await stage.make_due()
    at = await store.now_ms(THERE) - 60_000
    broken = StoredReminder(
        "x", at, "Mars/Olympus", Author("u2"), repeat="FREQ=DAILY", start="2026-11-22T07:00:00"
    )
    await StoredReminders(store).add(THERE, "r1", at, encode(broken))
    await stage.clock.sweep()
    assert stage.rung == [(HERE, "")]
    assert await StoredReminders(store).due(10) == []


@pytest.mark.parametrize("group", [False, True])
async def test_what_has_rung_is_forgotten_too(store: Store, group: bool) -> None:
    """It waited behind the wish; in a group, that of another person is said."""
    stage = Stage(store, [])
    wish = Message("m1", "user", (Text("/forget me"),), 1_000, Author("u1"))
    await stage.harness.arrive(InboundEvent(wish, group=group))
    for reminder_id, author in (("r1", "u1"), ("r2", "u2" if group else "u1")):
        at = await store.now_ms(HERE) - 1
        stored = StoredReminder(
            f"text of {author}", at, "UTC", Author(author), group=group, routine=reminder_id == "r1"
        )
        await StoredReminders(store).add(HERE, reminder_id, at, encode(stored))
    await stage.clock.sweep()
    await stage.harness.runner.process(HERE)
    assert [text for text in stage.harness.box.texts if "text of" in text] == (
        ["⏰ text of u2"] if group else []
    )
    assert await store.inbox.read(HERE) == []
    assert not any("u1" in text for text in await stage.harness.past())


async def test_a_busy_conversation_forgets_reminders_at_once(store: Store) -> None:
    """Another process holds its lease for longer than anybody waits."""
    at = await store.now_ms(THERE) + 60_000
    stored = StoredReminder("SECRET", at, "UTC", Author("u1"), group=True)
    await StoredReminders(store).add(THERE, "r1", at, encode(stored))
    await store.belongings.add("mailbox:u1", f"shared {THERE}", 600)
    assert await store.leases.acquire(THERE, 60_000) is not None
    wish = InboundEvent(Message("m1", "user", (Text("/forget me"),), 1_000, Author("u1")))
    lease = await store.leases.acquire(HERE)
    assert lease is not None
    await Deletion(Harness(store, []).runner.services, lease_wait_s=0.1).forget(lease, wish)
    assert await StoredReminders(store).read(THERE) == {}


async def test_a_reminder_that_waits_behind_a_turn_is_forgotten_with_its_author(
    store: Store,
) -> None:
    """It has come into a group that is being answered for longer than anybody waits."""
    stage = Stage(store, [])
    at = await store.now_ms(HERE) - 1
    stored = StoredReminder("SECRET", at, "UTC", Author("u1"), group=True)
    await StoredReminders(store).add(HERE, "r1", at, encode(stored))
    await store.belongings.add("mailbox:u1", f"shared {HERE}", 600)
    busy, own = await leased(store, HERE), await leased(store, "mailbox:user:u1")
    await stage.clock.sweep()
    wish = InboundEvent(Message("m1", "user", (Text("/forget me"),), 1_000, Author("u1")))
    await Deletion(stage.harness.runner.services, lease_wait_s=0.1).forget(own, wish)
    await store.leases.release(busy)
    await stage.harness.runner.process(HERE)
    assert (stage.harness.box.texts, await stage.harness.past()) == ([], [])


async def test_in_a_group_somebody_unknown_has_no_reminders(store: Store) -> None:
    """Two people without ids would read each other's."""
    stage = Stage(store, setting(text="call home", **{"in": "PT2M"}))
    await stage.say("remind me", "m1", Author(), group=True)
    (result,) = stage.harness.model.requests[1].messages[-1].results
    assert "whose id the platform tells" in result.response["error"]
    assert "no reminders here" in (await stage.say("/reminders", "m2", Author(), group=True))[0]


async def test_many_at_one_moment_all_come_at_it(store: Store) -> None:
    """Everybody's reminder at seven."""
    stage = Stage(store, [])
    at = await store.now_ms(HERE) - 1
    stored = encode(StoredReminder("water", at, "UTC", Author("u1")))
    rooms = [f"mailbox:room-{number}" for number in range(2 * READ_LIMIT + 1)]
    await asyncio.gather(*(StoredReminders(store).add(room, "r1", at, stored) for room in rooms))
    await stage.clock.sweep()
    assert sorted(stage.rung) == sorted((room, "") for room in rooms)
