"""GROUP_MEMORY: what people write to each other is background for an hour, and nothing is kept
where it is off. What a message quotes or points at, ``bot.features.quotes`` finds."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import pytest
from redis.asyncio import Redis

from bot.channels import InboundEvent
from bot.features.background.feature import BACKGROUND_ID, CAP
from bot.features.background.store import StoredBackground
from bot.features.forgetting.deletion import Deletion
from bot.pipeline.history import read_history
from bot.pipeline.services import Defaults
from bot.providers.scripted import Step
from bot.store import Depths, Store
from bot.transcript import Author, Media, Message, Text
from tests.bot.channels.line.pipeline import LinePipeline, open_pipeline
from tests.bot.channels.line.rig import IN_GROUP, open_rig
from tests.bot.channels.line.slow_turns import held_step, running
from tests.bot.store.turns import key, leased
from tests.fakes.line import LineFake
from tests.fakes.line_events import (
    BOT,
    GROUP,
    JSON,
    addressed_message,
    again,
    event,
    message_id,
    text_message,
    unsend,
)

JPEG = b"\xff\xd8\xff\xe0picture"
TARO = "U" + "2" * 32
REMEMBERING: dict[str, Any] = {
    "defaults": Defaults(time_zone="Asia/Tokyo"),
    "group_memory": "on",
}

import_module(
    "linebot.v3.messaging"
)  # on a busy machine its import takes longer than a name is waited for


def background(here: LinePipeline) -> list[str]:
    """What the newest request tells of the group, line by line, without the times."""
    found = [message for message in here.model.requests[-1].messages if message.id == BACKGROUND_ID]
    return [line.partition(" ")[2] for message in found for line in message.text.splitlines()[1:]]


def pictures(message: Message) -> list[str]:
    """The references of the message's pictures."""
    return [part.ref for part in message.parts if isinstance(part, Media) and part.data]


def text_event(fake: LineFake, text: str, user: str | None = TARO) -> JSON:
    """Somebody says something to the others, a little later than the last time."""
    fake.advance(0.001)
    return fake.text(text, GROUP, user)


async def stored(store: Store) -> list[bytes]:
    """What the store holds of the group."""
    return await StoredBackground(store).read(IN_GROUP)


async def test_what_was_said_before_is_background(store: Store, fake: LineFake) -> None:
    """With names, in order, as data; it is not in the history, and nobody is answered but the one
    who asks."""
    fake.people[TARO] = {"displayName": "Taro"}
    async with open_pipeline(store, fake, [Step("Sushi."), Step("ok")], **REMEMBERING) as here:
        await here.converse(
            text_event(fake, 'sushi or "ramen"?'),
            text_event(fake, "sushi", None),
            fake.mention("so?"),
        )
        assert background(here) == ['Taro: "sushi or \\"ramen\\"?"', 'somebody: "sushi"']
        [request] = here.model.requests
        assert "asks for nothing and permits nothing" in next(
            message.text for message in request.messages if message.id == BACKGROUND_ID
        )
        assert here.asked().text == "so?"
    assert fake.texts == [["Sushi."]]
    assert [message.text for message in await read_history(store, IN_GROUP)] == ["so?", "Sushi."]


async def test_where_it_is_off_nothing_is_kept(store: Store, fake: LineFake) -> None:
    """Not a key is written for a message that mentions nobody."""
    async with open_pipeline(store, fake, [Step("ok")]) as here:
        await here.converse(text_event(fake, "canary"))
        names = [name async for name in store.scripts.client.scan_iter("kaiwa:*")]
        assert [
            name for name in names if b":note:line:" not in name
        ] == []  # the time of the last webhook
        await here.converse(fake.mention("what is this?"))
        assert background(here) == []


async def test_the_newest_twenty_of_an_hour_are_kept(store: Store, fake: LineFake) -> None:
    """Each cut to a line; an older one is neither shown nor kept when others come."""
    old = text_event(fake, "yesterday")
    old["timestamp"] -= 3_601_000
    async with open_pipeline(store, fake, [Step("ok")], **REMEMBERING) as here:
        await here.receive(
            old, *(text_event(fake, f"{number} {'x' * 500}") for number in range(25))
        )
        assert len(await stored(store)) == 20
        await here.converse(fake.mention("so?"))
        lines = background(here)
    assert [line.split()[1] for line in lines] == [f'"{number}' for number in range(5, 25)]
    assert max(map(len, lines)) < CAP + 30


async def test_after_an_hour_a_message_is_not_shown(
    store: Store, redis: Redis, fake: LineFake
) -> None:
    """Though a later one keeps the store from dropping it."""
    async with open_pipeline(store, fake, [Step("ok")], **REMEMBERING) as here:
        await here.receive(text_event(fake, "early"), text_event(fake, "late", None))
        name = key("background", IN_GROUP)
        entries = cast("list[bytes]", await redis.zrange(name, 0, -1))
        [early] = [entry for entry in entries if b"early" in entry]
        at = int(await redis.zscore(name, early) or 0)
        await redis.zrem(name, early)
        await redis.zadd(
            name, {early.replace(b"%d" % at, b"%d" % (at - 3_600_000)): at - 3_600_000}
        )
        await here.converse(fake.mention("so?"))
        assert background(here) == ['somebody: "late"']
    assert len(await stored(store)) == 2


async def test_a_message_that_comes_twice_is_kept_once(store: Store, fake: LineFake) -> None:
    """LINE delivers again what got no 200."""
    once = text_event(fake, "hello all")
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.receive(once, again(once))
    assert len(await stored(store)) == 1


@pytest.mark.parametrize("words", ["what is this?", "この写真は何？"])
async def test_a_picture_sent_before_can_be_asked_about(
    store: Store, fake: LineFake, words: str
) -> None:
    """Kept as a reference, fetched when somebody points at it; then it is part of the history."""
    fake.image("8001", JPEG)
    fake.people[TARO] = {"displayName": "Taro"}
    async with open_pipeline(store, fake, [Step("A cat."), Step("Grey.")], **REMEMBERING) as here:
        await here.receive(
            fake.event(place=GROUP, user=TARO, message={"id": "8001", "type": "image"})
        )
        assert (fake.calls("content"), b"8001" in (await stored(store))[0]) == ([], True)
        await here.converse(fake.mention(words))
        assert pictures(here.asked()) == ["8001"]
        assert "Picture 1 below was sent earlier by Taro" in here.asked().preface
        assert background(here) == ["Taro: [picture]"]
        await here.converse(fake.mention("colour?"))
        seen = [ref for message in here.model.requests[-1].messages for ref in pictures(message)]
    assert seen == ["8001"]


async def test_pictures_sent_together_are_asked_about_together(
    store: Store, fake: LineFake
) -> None:
    """The newest ones of the person who sent last, four at most; other talk has none."""
    albums = [
        ({"id": str(n), "type": "image", "imageSet": {"id": "E", "index": n, "total": 6}})
        for n in range(1, 7)
    ]
    for number in range(8):
        fake.image(str(number), JPEG)
    async with open_pipeline(store, fake, [Step("ok"), Step("ok")], **REMEMBERING) as here:
        await here.receive(fake.event(place=GROUP, message={"id": "0", "type": "image"}))
        await here.receive(*(fake.event(place=GROUP, user=TARO, message=album) for album in albums))
        await here.converse(fake.mention("weather in Nara?"))
        assert fake.calls("content") == []
        await here.converse(fake.mention("compare these"))
        assert pictures(here.asked()) == ["3", "4", "5", "6"]
        assert here.asked().preface.count("was sent earlier") == 4


async def test_an_old_picture_is_not_pointed_at(store: Store, fake: LineFake) -> None:
    """It can still be quoted."""
    fake.image("8002", JPEG)
    sent = fake.event(place=GROUP, user=TARO, message={"id": "8002", "type": "image"})
    sent["timestamp"] -= 700_000
    async with open_pipeline(store, fake, [Step("ok"), Step("ok")], **REMEMBERING) as here:
        await here.converse(sent, fake.mention("is it raining?"))
        assert pictures(here.asked()) == []
        quoting = addressed_message("and this?") | {"quotedMessageId": "8002"}
        await here.converse(fake.event(place=GROUP, message=quoting))
        assert pictures(here.asked()) == ["8002"]


async def test_what_has_no_words_is_not_kept(store: Store, fake: LineFake) -> None:
    """Stickers, places, videos."""
    silent: list[JSON] = [
        {
            "id": message_id(),
            "type": "sticker",
            "packageId": "1",
            "stickerId": "2",
            "keywords": ["hi"],
        },
        {
            "id": message_id(),
            "type": "location",
            "title": "Tokyo",
            "latitude": 35.0,
            "longitude": 139.0,
        },
        {"id": message_id(), "type": "video", "contentProvider": {"type": "line"}},
    ]
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.receive(*(fake.event(place=GROUP, message=message) for message in silent))
    assert await stored(store) == []


async def test_what_is_quoted_can_be_background(store: Store, fake: LineFake) -> None:
    """With the name of the person who wrote it."""
    fake.people[TARO] = {"displayName": "Taro"}
    before = text_event(fake, "the station at nine")
    quoting = addressed_message("where?") | {"quotedMessageId": before["message"]["id"]}
    async with open_pipeline(store, fake, [Step("ok")], **REMEMBERING) as here:
        await here.converse(before, fake.event(place=GROUP, message=quoting))
        assert here.asked().preface.endswith('[This quotes Taro, as data: "the station at nine"]')


async def test_changes_reach_the_background(store: Store, fake: LineFake) -> None:
    """An edited message has its new words, one taken back is gone from the store."""
    typo, secret = text_event(fake, "halo"), text_event(fake, "canary")
    edited = typo["message"] | {"text": "hello"}
    async with open_pipeline(store, fake, [Step("ok")], **REMEMBERING) as here:
        await here.converse(typo, secret)
        await here.converse(
            event("messageEdited", GROUP, TARO, message=edited),
            unsend(secret),
            fake.mention("so?"),
        )
        assert background(here) == ['somebody: "hello"']
    assert b"canary" not in b"".join(await stored(store))


@pytest.mark.parametrize("how", ["forget me", "reset", "leave"])
async def test_what_is_forgotten_is_gone(store: Store, fake: LineFake, how: str) -> None:
    """Of one person, or of all, also of those who have never asked anything."""
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.receive(text_event(fake, "canary"), text_event(fake, "mine", "U" + "3" * 32))
        if how == "leave":
            await here.converse(event("leave", GROUP, None))
        else:
            await here.converse(fake.mention(how, user=TARO))
        assert len(await stored(store)) == (1 if how == "forget me" else 0)
        keys = [key async for key in store.scripts.client.scan_iter("kaiwa:*:background:*")]
    assert b"canary" not in b"".join(await stored(store))
    assert len(keys) == (1 if how == "forget me" else 0)


async def test_whoever_leaves_the_group_takes_their_words_along(
    store: Store, fake: LineFake
) -> None:
    """Nobody asks the model about that; the words of those who stay are kept."""
    gone = event("memberLeft", GROUP, None, left={"members": [{"type": "user", "userId": TARO}]})
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.converse(
            text_event(fake, "canary"), text_event(fake, "hello all", "U" + "3" * 32), gone
        )
    [left] = await stored(store)
    assert b"hello all" in left


async def test_a_group_that_invites_the_bot_again_reads_again_what_is_kept(
    store: Store, fake: LineFake
) -> None:
    """Also on the same day: people may have joined who have not read it."""
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.converse(fake.event("join", GROUP, None))
        await here.converse(event("leave", GROUP, None), fake.event("join", GROUP, None))
    assert len(fake.texts) == 2
    assert all(
        "the last 20 messages that do not mention me" in greeting for [greeting] in fake.texts
    )


async def test_being_forgotten_in_1_1_reaches_groups(store: Store, fake: LineFake) -> None:
    """Nothing told where the person had written."""
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.receive(text_event(fake, "canary"))
        await here.converse(fake.text("forget me", TARO, TARO))
    assert await stored(store) == []


async def test_what_a_turn_quotes_of_somebody_is_forgotten_after_it(
    store: Store, fake: LineFake
) -> None:
    """The turn is another person's, and takes longer than anybody waits."""
    before, step = text_event(fake, "canary"), held_step("ok")
    quoting = addressed_message("what does that mean?") | {
        "quotedMessageId": before["message"]["id"]
    }
    async with open_pipeline(store, fake, [step], **REMEMBERING) as here:
        await here.receive(before, fake.event(place=GROUP, message=quoting))
        async with running(here, step, IN_GROUP):
            wish = InboundEvent(Message("m1", "user", (Text("/forget me"),), 1, Author(TARO)))
            own = await leased(store, f"line:{BOT}:user:{TARO}")
            await Deletion(here.runner.services, lease_wait_s=0.1).forget(own, wish)
        await here.process()
    past = await read_history(store, IN_GROUP)
    assert [message.text for message in past] == ["what does that mean?", "ok"]
    assert "canary" not in str(past)


async def test_the_model_may_stay_silent(store: Store, fake: LineFake) -> None:
    """Its mark is never sent, alone or beside words; without background it means nothing."""
    steps = [Step("[silent]"), Step(" [silent] Well.")]
    async with open_pipeline(store, fake, steps, **REMEMBERING) as here:
        await here.converse(text_event(fake, "the bot is fine"), fake.mention("thanks"))
        assert fake.sent == []
        assert [message.text for message in await read_history(store, IN_GROUP)] == [
            "thanks",
            "[silent]",
        ]
        assert await store.depths() == Depths(due=0, dead_letters=0)
        await here.converse(fake.mention("really?"))
    assert fake.texts == [["Well."]]


async def test_a_group_is_told_what_is_kept(store: Store, fake: LineFake) -> None:
    """When the bot joins; a person is not, as nothing is kept there."""
    async with open_pipeline(store, fake, [], **REMEMBERING) as here:
        await here.converse(fake.event("join", GROUP, None))
        await here.converse(fake.event("follow"))
    [[joined], [followed]] = fake.texts
    assert ("last 20 messages" in joined, "20件" in followed) == (True, False)
    assert joined.endswith("Mention me and write “forget me”, and I delete yours.")


async def test_who_is_not_allowed_is_not_kept() -> None:
    """Groups and people that are not on the lists are not even passed on."""
    async with open_rig(allowed_groups=("C" + "f" * 32,)) as rig:
        await rig.receive(event(place=GROUP, message=text_message("hi")))
        assert rig.overheard == []
    async with open_rig(allowed_users=(TARO,)) as rig:
        await rig.receive(event(place=GROUP, message=text_message("hi")))
        await rig.receive(event(place=GROUP, user=TARO, message=text_message("hi")))
        assert [one.author_id for one in rig.overheard] == [TARO]
