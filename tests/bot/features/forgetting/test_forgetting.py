"""/reset, /forget me and leaving, through whole turns on a real store."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.channels import Delivery, InboundEvent, Reply
from bot.errors import DeliverLater, DeliveryRefused
from bot.features.forgetting.deletion import Deletion, Forgotten
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, Text, encode
from tests.bot.harness import HERE, Harness
from tests.bot.store.turns import leased
from tests.fakes.tools import Echo, tool_map

GROUP = "mailbox:group-0001"


async def arrive(store: Store, conversation: str, event: InboundEvent) -> None:
    assert await store.inbox.accept(conversation, event.message.id, encode(event))


def message_event(
    message_id: str, text: str, author: str = "u1", *, group: bool = False
) -> InboundEvent:
    return InboundEvent(
        Message(message_id, "user", (Text(text),), 1, Author(author)), "address", group
    )


async def give_up(
    store: Store, conversation: str, *events: InboundEvent, delivery: bytes = b""
) -> None:
    """Make a dead letter of messages, and one of a delivery."""
    for event in events:
        await arrive(store, conversation, event)
    lease = await leased(store, conversation)
    await store.journal.begin(lease, "turn")
    deliveries = [delivery] if delivery else []
    await store.journal.commit(lease, None, deliveries, 1, given_up="crash" if events else "")
    if delivery:
        await store.outbox.move_head_to_dead_letters(lease, b"refused")
    await store.leases.release(lease)


async def letters(store: Store) -> set[tuple[str, bytes]]:
    """The conversation of each dead letter, with its delivery or first message."""
    return {
        (letter.conversation, letter.delivery or letter.arrivals[0])
        for letter in await store.dead_letters.read()
    }


async def words(harness: Harness, conversation: str = HERE) -> list[str]:
    return [message.text for message in await read_history(harness.store, conversation)]


async def test_forget_me_deletes_every_key_of_a_person_and_only_theirs(
    store: Store, redis: Redis
) -> None:
    """Their own conversation, their words in a group, their notes; the others' words stay."""
    own = "mailbox:user:u1"
    harness = Harness(store, [Step("One"), Step("Two"), Step("Three")])
    await arrive(store, own, message_event("m1", "my secret"))
    await harness.runner.process(own)
    await arrive(store, GROUP, message_event("g1", "mine in the group", group=True))
    await harness.runner.process(GROUP)
    await arrive(store, GROUP, message_event("g2", "somebody else's", "u2", group=True))
    await harness.runner.process(GROUP)
    await store.kv.set("mailbox:name:u1", b"Hanako", 60)
    await store.kv.set("mailbox:name:u2", b"Taro", 60)
    await arrive(store, own, message_event("m2", "forget me"))
    await harness.runner.process(own)
    assert harness.box.texts[-1].startswith("Done: I have deleted what I kept of you")
    assert "Conversations: 2, messages: 4, files: 0." in harness.box.texts[-1]
    assert await words(harness, own) == []
    assert await words(harness, GROUP) == ["somebody else's", "Three"]
    assert await store.kv.get("mailbox:name:u2") == b"Taro"
    assert [key async for key in redis.scan_iter("*u1*")] == []


async def test_forget_me_reaches_the_dead_letters(store: Store) -> None:
    """All of a person's own conversations; of shared ones those that name them, readable or not;
    nobody else's."""
    own, alone, elsewhere = "mailbox:user:u1", "mailbox:room-0002", "post:user:u1"
    harness = Harness(store, [Step("One")])
    await arrive(store, alone, message_event("m1", "hello"))
    await harness.runner.process(alone)
    to_me = encode(Delivery("d1", "t1", Reply("For you"), address='{"user":"u1"}'))
    to_somebody = encode(Delivery("d2", "t2", Reply("For them"), address='{"user":"u12"}'))
    theirs = message_event("g3", "somebody else's", "u2", group=True)
    await give_up(store, own, delivery=b"cannot be read")
    await give_up(store, alone, delivery=to_somebody)
    await give_up(
        store,
        GROUP,
        message_event("g1", "mine", group=True),
        message_event("g2", "not mine", "u2", group=True),
    )
    await give_up(store, GROUP, delivery=to_me)
    await give_up(store, GROUP, delivery=b'\xff{"u1"')
    await give_up(store, GROUP, delivery=to_somebody)
    await give_up(store, GROUP, theirs)
    await give_up(store, elsewhere, delivery=to_me)
    await arrive(store, own, message_event("m2", "forget me"))
    await harness.runner.process(own)
    assert harness.box.texts[-1].startswith("Done: I have deleted what I kept of you")
    assert await letters(store) == {
        (GROUP, to_somebody),
        (GROUP, encode(theirs)),
        (elsewhere, to_me),
    }


async def test_reset_deletes_the_dead_letters_of_the_conversation(store: Store) -> None:
    """What is forgotten must not be delivered afterwards; other conversations keep theirs."""
    harness = Harness(store, [])
    await give_up(store, HERE, delivery=b"here")
    await give_up(store, GROUP, delivery=b"there")
    await harness.receive("/reset", "m1")
    await harness.runner.process(HERE)
    assert await letters(store) == {(GROUP, b"there")}


async def test_reset_leaves_answers_that_are_still_to_be_delivered(store: Store) -> None:
    """In a group they are others', who wait for them."""
    harness = Harness(store, [Step("For somebody else")])
    harness.box.failures = [DeliverLater("503", 0.0)]
    await harness.receive("a question", "m1")
    await harness.runner.process(HERE)
    assert harness.box.texts == []
    await harness.receive("/reset", "m2", "address")
    await harness.runner.process(HERE)
    assert harness.box.texts[0] == "For somebody else"
    assert harness.box.texts[1].startswith("Done: I have deleted this conversation")
    assert await words(harness) == ["/reset", harness.box.texts[1]]


class Keeper(Echo):
    """Has three files of each conversation."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def forget(self, conversation: str) -> int:
        self.deleted.append(conversation)
        return 3


async def test_forgetting_says_what_was_deleted_and_is_kept_for_nobody(
    store: Store, redis: Redis
) -> None:
    """Files too; what cannot be delivered becomes no dead letter, which would name its reader for
    30 days."""
    keeper = Keeper()
    harness = Harness(store, [Step("One")], tools=tool_map(keeper))
    harness.box.failures = [DeliveryRefused("403 blocked")]
    deletion = Deletion(harness.runner.services)
    await arrive(store, HERE, message_event("m1", "my secret"))
    lease = await leased(store, HERE)
    assert await deletion.forget(lease, message_event("m2", "/forget me")) == Forgotten(1, 0, 3)
    assert keeper.deleted == [HERE]
    await store.leases.release(lease)
    await harness.receive("/forget me", "m3")
    await harness.runner.process(HERE)
    assert harness.box.texts == []
    assert await letters(store) == set()
    assert await redis.keys(f"*{HERE}*") == []


async def test_answers_to_somebody_in_the_group_they_leave_are_not_delivered(store: Store) -> None:
    """Those that name them; the wish itself is answered there."""
    harness = Harness(store, [])
    lease = await leased(store, GROUP)
    to_them, to_others = (
        encode(Delivery(f"d_{user}", "t1", Reply(f"for {user}"), f'{{"user":"{user}"}}'))
        for user in ("u1", "u2")
    )
    await store.journal.commit(lease, None, [to_them, to_others], keep_turns=1)
    harness.box.failures = [DeliverLater("503", 0.0)]
    await store.leases.release(lease)
    await arrive(store, GROUP, message_event("g1", "/forget me", group=True))
    await harness.runner.process(GROUP)
    assert [text[:6] for text in harness.box.texts] == ["for u2", "Done: "]


async def test_a_group_that_the_bot_has_left_is_forgotten(store: Store, redis: Redis) -> None:
    """With its files; what its people have said elsewhere stays."""
    harness = Harness(store, [Step("One"), Step("Two")])
    await arrive(store, GROUP, message_event("g1", "in the group", group=True))
    await harness.runner.process(GROUP)
    await arrive(store, HERE, message_event("m1", "elsewhere"))
    await harness.runner.process(HERE)
    await store.kv.set(f"mailbox:question:{GROUP}", b"x", 60)
    await arrive(store, GROUP, InboundEvent(Message("l1", "user", (), 2), group=True, event="left"))
    await harness.runner.process(GROUP)
    assert [key.decode() async for key in redis.scan_iter(f"*{GROUP}*")] == []
    assert await words(harness) == ["elsewhere", "Two"]


async def test_whoever_leaves_is_forgotten_everywhere(store: Store, redis: Redis) -> None:
    """As if they had said so, but nobody is answered."""
    own = "mailbox:user:u1"
    harness = Harness(store, [Step("One"), Step("Two")])
    await arrive(store, own, message_event("m1", "my secret"))
    await harness.runner.process(own)
    await arrive(store, GROUP, message_event("g1", "mine in the group", group=True))
    await harness.runner.process(GROUP)
    await arrive(store, own, InboundEvent(Message("l1", "user", (), 2, Author("u1")), event="left"))
    await harness.runner.process(own)
    assert harness.box.texts == ["One", "Two"]
    assert await words(harness, GROUP) == []
    assert [key async for key in redis.scan_iter("*u1*")] == []


async def test_a_message_taken_back_leaves_the_dead_letters(store: Store) -> None:
    """It is never answered, whatever an operator puts back; the words of others stay."""
    harness = Harness(store, [])
    await give_up(store, HERE, message_event("m1", "secret"))
    await give_up(store, HERE, message_event("m12", "public"))
    await give_up(store, GROUP, message_event("m1", "elsewhere"))
    await arrive(
        store, HERE, InboundEvent(Message("e1", "user", (), 2), event="unsent", target="m1")
    )
    await harness.runner.process(HERE)
    assert await letters(store) == {
        (HERE, encode(message_event("m12", "public"))),
        (GROUP, encode(message_event("m1", "elsewhere"))),
    }
