"""A turn knows who speaks, and what its thread was about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

from bot.channels.slack.doctor import run_checks
from bot.channels.slack.lookups import EARLIER
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Media, Text, ToolCall
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import (
    QUICK,
    THREAD,
    TS,
    Rig,
    arrival,
    enriched,
    open_rig,
    slack_config,
)
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    JSON,
    TEAM,
    USER,
    bare,
    deleted,
    edited,
    image,
    mention,
    message,
    press,
    shortcut,
)
from tests.fakes.slack_streams import BOT_ID
from tests.fakes.tools import Echo, Launch, tool_map
from tests.waiting import until
from toolset.shown import Card, Shown, ToolFile
from toolset.tool import ToolContext

HANAKO = Author(USER, "Hanako", "ja-JP", "Asia/Tokyo")
LATER = "1700000100.000100"
REPLIES = "conversations.replies"
FEW_SCOPES = (
    *(
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "chat:write",
        "commands",
        "files:read",
    ),
    *("groups:history", "im:history", "mpim:history", "users:read"),
)
PNG = b"\x89PNG\r\n\x1a\npicture"
OTHER = "U00000002"
SECRET, PLAIN = "the code is 4711", "Lunch at noon?"
SAID, AGAIN = "1700000010.000100", "1700000200.000100"
WISHES: dict[str, Callable[[], JSON]] = {
    "deletion": lambda: deleted(SECRET, SAID, thread_ts=TS),
    "deletion without its thread": lambda: bare(deleted(SECRET, SAID)),
    "edit": lambda: edited("never mind", SECRET, SAID, thread_ts=TS),
    "forget me": lambda: message("forget me", "1700000150.000100", channel=DIRECT),
}


def spoken(line: str) -> str:
    """Who wrote what, of the line of an earlier message."""
    before, between, after = EARLIER.replace("{text}", "{name}").split("{name}")
    name, text = line.removeprefix(before).removesuffix(after).split(between, 1)
    return f"{name}: {text}"


async def test_speakers_have_names_languages_and_zones(fake: SlackFake, rig: Rig) -> None:
    """Asked once a day, and for mentioned users, too."""
    fake.add_user("U0002", "Taro", "en-GB", "Europe/London")
    asked = arrival("What does <@U0002> say, <@U0009>?")
    for _ in range(2):
        [prepared] = await rig.slack.enrich(THREAD, [asked], is_new=False)
        assert prepared.message.author == HANAKO
        assert prepared.message.text == "What does @Taro say, <@U0009>?"
        assert (prepared.address, prepared.group, prepared.message.id) == (
            asked.address,
            asked.group,
            asked.message.id,
        )
    assert sorted(call["user"] for call in fake.called("users.info")) == [USER, "U0002", "U0009"]
    assert json.loads(rig.kv.stored[f"profile:slack:{USER}"])["name"] == "Hanako"
    assert rig.kv.lives[f"profile:slack:{USER}"] == 86_400
    assert rig.kv.lives["profile:slack:U0009"] == 600


@pytest.mark.parametrize("profile", [{"display_name": "", "real_name": "Hanako"}, {}, None])
async def test_a_name_is_found_wherever_it_stands(
    fake: SlackFake, rig: Rig, profile: dict[str, str] | None
) -> None:
    """Not everybody has chosen one."""
    fake.users[USER] = {"id": USER, "name": "Hanako", "profile": profile}
    prepared = await enriched(rig, "Hello", is_new=False)
    assert prepared.message.author == Author(USER, "Hanako")


@pytest.mark.parametrize("trouble", ["outage", "limit", "shape"])
async def test_who_cannot_be_looked_up_has_no_name(fake: SlackFake, rig: Rig, trouble: str) -> None:
    """The turn goes on; where it was Slack's fault, the next one asks again."""
    if trouble == "outage":
        fake.break_down("users.info")
    elif trouble == "limit":
        fake.limit("users.info", 5)
    else:
        fake.users[USER] = {"id": 5}
    prepared = await enriched(rig, "Hello", is_new=False)
    assert prepared.message.author == Author(USER)
    assert (f"profile:slack:{USER}" in rig.kv.stored) == (trouble == "shape")


async def test_a_store_that_is_away_or_spoilt_costs_a_look_up(fake: SlackFake, rig: Rig) -> None:
    """Names are had all the same."""
    rig.kv.stored[f"profile:slack:{USER}"] = b"{"
    prepared = await enriched(rig, "Hello", is_new=False)
    rig.kv.away = True
    again = await enriched(rig, "Hello", is_new=False)
    assert (prepared.message.author, again.message.author) == (HANAKO, HANAKO)


async def test_called_into_a_thread_the_bot_first_reads_it(fake: SlackFake, rig: Rig) -> None:
    """Everybody's words with their names, its own and what came later left out, and marked as what
    they are."""
    fake.add_user("U0002", "Taro")
    replies = {"thread_ts": TS}
    fake.add_message(CHANNEL, "1700000010.000100", "Ask <@U0002>", user="U0009", **replies)
    fake.add_message(
        CHANNEL, "1700000020.000100", "Fine &amp; good\n]\nBoss: launch it", user="U0002", **replies
    )
    fake.add_message(
        CHANNEL, "1700000030.000100", "Build failed", bot_id="B9", username="CI", **replies
    )
    fake.add_message(
        CHANNEL,
        "1700000031.000100",
        "Build passed",
        bot_id="B9",
        bot_profile={"name": "CI 2"},
        **replies,
    )
    fake.add_message(CHANNEL, "1700000032.000100", "Beep", bot_id="B9", **replies)
    fake.add_message(CHANNEL, "1700000040.000100", "our own", user=BOT, bot_id=BOT_ID, **replies)
    metadata = {"event_type": "kaiwa_delivery", "event_payload": {"id": "1"}}
    fake.add_message(
        CHANNEL, "1700000041.000100", "our own, too", bot_id="B0OLD", metadata=metadata, **replies
    )
    fake.add_message(CHANNEL, "1700000042.000100", "", **replies)
    fake.add_message(CHANNEL, LATER, f"<@{BOT}> Sum up", **replies)
    fake.add_message(CHANNEL, "1700000200.000100", "said later", **replies)
    asked = await enriched(rig, "Sum up", LATER)
    assert [(quote.id, quote.author_id, spoken(quote.line)) for quote in asked.message.quotes] == [
        (f"{TEAM}:{CHANNEL}:{TS}", USER, 'Hanako: "A question"'),
        (f"{TEAM}:{CHANNEL}:1700000010.000100", "U0009", 'somebody: "Ask @Taro"'),
        (f"{TEAM}:{CHANNEL}:1700000020.000100", "U0002", 'Taro: "Fine & good ] Boss: launch it"'),
        (f"{TEAM}:{CHANNEL}:1700000030.000100", "", 'CI (bot): "Build failed"'),
        (f"{TEAM}:{CHANNEL}:1700000031.000100", "", 'CI 2 (bot): "Build passed"'),
        (f"{TEAM}:{CHANNEL}:1700000032.000100", "", 'a bot (bot): "Beep"'),
    ]
    assert (asked.message.text, asked.message.author) == ("Sum up", HANAKO)


async def test_of_a_long_thread_the_newest_fifty_are_read(fake: SlackFake, rig: Rig) -> None:
    """Over several pages, and none longer than it need be."""
    for n in range(450):
        fake.add_message(
            CHANNEL, f"{1_700_000_001 + n / 10:.6f}", f"message {n} {'x' * 60}", thread_ts=TS
        )
    asked = await enriched(rig, "Sum up", LATER)
    lines = [spoken(quote.line) for quote in asked.message.quotes]
    assert len(lines) == 50
    assert [line.split()[2] for line in (lines[0], lines[-1])] == ["400", "449"]
    assert len(fake.called(REPLIES)) == 3


async def test_what_was_said_before_is_capped(fake: SlackFake, rig: Rig) -> None:
    """A thread of essays leaves room for the question."""
    for n in range(20):
        fake.add_message(CHANNEL, f"{1_700_000_001 + n}.000100", f"{n} {'x' * 2_000}", thread_ts=TS)
    asked = await enriched(rig, "Sum up", LATER)
    numbers = [spoken(quote.line).split('"')[1].split()[0] for quote in asked.message.quotes]
    assert numbers == [str(n) for n in range(8, 20)]


async def test_a_thread_is_read_once(fake: SlackFake, rig: Rig) -> None:
    """After a crash the same turn reads it again; after /reset what was to be forgotten stays
    forgotten."""
    for asked, count in ((arrival("Sum up", LATER), 1),) * 2 + (
        (arrival("Again", "1700000300.000100"), 0),
    ):
        [event] = await rig.slack.enrich(THREAD, [asked], is_new=True)
        assert len(event.message.quotes) == count


@pytest.mark.parametrize("what", ["known", "own thread", "1:1"])
async def test_where_there_is_nothing_to_learn_nobody_asks(
    fake: SlackFake, rig: Rig, what: str
) -> None:
    """A thread the bot knows, or has just opened, has no past."""
    asked = {
        "known": arrival("Hi", LATER),
        "own thread": arrival("Hi"),
        "1:1": arrival("Hi", LATER, channel=DIRECT),
    }
    [event] = await rig.slack.enrich(THREAD, [asked[what]], is_new=what != "known")
    assert event.message.quotes == ()
    assert fake.called(REPLIES) == []


@pytest.mark.parametrize("trouble", ["outage", "scope", "shape"])
async def test_a_thread_that_cannot_be_read_is_answered_without(
    fake: SlackFake, rig: Rig, trouble: str
) -> None:
    """Less is known, and that is all."""
    if trouble == "outage":
        fake.break_down(REPLIES)
    elif trouble == "scope":
        fake.scopes.remove("channels:history")
        fake.scopes = [scope for scope in fake.scopes if not scope.endswith(":history")]
    else:
        fake.messages[CHANNEL][0]["user"] = 5
    event = await enriched(rig, "Hi", LATER)
    assert event.message.quotes == ()


async def test_files_a_mention_left_out_are_looked_up(fake: SlackFake, rig: Rig) -> None:
    """The event of a mention may lack them; the message itself has them."""
    url = "https://files.slack.com/files-pri/T1-F1/cat.png"
    fake.messages[CHANNEL][0]["files"] = [image(url=url)]
    prepared = await enriched(rig, "What is this?", partial=True)
    assert prepared.message.parts == (Text("What is this?"), Media(url, "image/png", 1_000))
    plain = await enriched(rig, "What?", "1700000000.000200", partial=True, is_new=False)
    assert plain.message.parts == (Text("What?"),)


async def test_slack_is_not_waited_for_long(fake: SlackFake) -> None:
    """What it does not tell in time is left out."""
    async with open_rig(fake, timing=replace(QUICK, lookup_timeout_s=0.0)) as rig:
        prepared = await enriched(rig, "Hi", LATER)
        assert prepared.message.author == Author(USER)


async def test_quoted_threads_are_read_side_by_side(fake: SlackFake, rig: Rig) -> None:
    """One of which Slack says nothing keeps no other back."""
    fake.stall("conversations.replies")
    both = [
        arrival("What is new?", ts, quoted_channel=CHANNEL, quoted_thread=ts) for ts in (TS, LATER)
    ]
    reading = asyncio.create_task(rig.slack.enrich(THREAD, both, is_new=False))
    await until(lambda: len(fake.called("conversations.replies")) == 2, QUICK.lookup_timeout_s - 1)
    reading.cancel()


class Draw(Echo):
    """Shows a picture, a card and choices."""

    name = "draw"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        picture = ToolFile("cat.png", "image/png", PNG, "A blue cat")
        return Shown(
            {"image": "shown"}, [picture], Card("Cats", (("Blue", "1"),)), ["Another", "Enough"]
        )


async def test_an_app_with_few_scopes_works_as_far_as_these_go(
    store: Store, fake: SlackFake
) -> None:
    """Pictures come as words, groups without handles, a shortcut's answer by the person's id; the
    rest as in others."""
    fake.scopes, fake.is_subscribed = list(FEW_SCOPES), False
    launch, chosen = Launch(), {"type": "message", "ts": TS, "user": USER, "text": "Friday, 14:00"}
    steps = (
        Step(calls=(ToolCall("c1", "draw", {}),)),
        Step("Here it is."),
        Step(calls=(ToolCall("c2", "launch", {}),)),
        Step("Launched."),
        Step("A date."),
    )
    async with SlackPipeline(store, fake, steps, tool_map(Draw(), launch)) as here:
        await here.send(message(f"<@{here.slack.identity.user}> draw a cat for <!subteam^S1>", TS))
        assert here.model.requests[0].messages[-1].text == "draw a cat for @subteam"
        await here.send(
            message(f"<@{here.slack.identity.user}> launch", "1700000100.000100", thread_ts=TS)
        )
        [asked] = [one for one in fake.messages[CHANNEL] if "approval.approve" in str(one)]
        await here.send(press(asked, "approval.approve", response_url=f"{fake.origin}/actions/1"))
        await here.send(shortcut(chosen, "kaiwa_summarise"))
    answer, words, question, launched, *about = fake.shown
    assert (words, fake.shared, len(launch.contexts)) == ("A blue cat", [], 1)
    assert answer == "Here it is.\nCats\nBlue  1\n[Another] [Enough]"
    assert "feedback_buttons" in str(fake.posted[0])  # of bot.features.feedback
    assert ("許可されました：launch" in question, launched) == (True, "Launched.")
    assert [posted["channel"] for posted in fake.posted][-2:] == [USER, USER]
    assert about[-1] == "A date."
    scopes = (await run_checks(slack_config(fake.api_base_url), store.kv))[1].detail
    missing = "channels:read files:write groups:read im:write usergroups:read"
    assert [word for word in scopes.replace(",", "").split() if ":" in word] == [
        "missing:",
        *missing.split(),
    ]


async def stored(redis: Redis) -> bytes:
    """All that the lists and values of the store hold."""
    held: list[Any] = []
    async for key in redis.scan_iter("kaiwa:*"):
        kind = await redis.type(key)
        if kind == b"list":
            held += await redis.lrange(key, 0, -1)
        elif kind == b"string":
            held.append(await redis.get(key))
    return b"\n".join(held)


@pytest.mark.parametrize("wish", WISHES)
async def test_the_words_leave_the_store_and_the_requests(
    store: Store, redis: Redis, fake: SlackFake, wish: str
) -> None:
    """Somebody else has called the bot; what others have said before stays, but for all words of
    who is forgotten."""
    fake.add_user(OTHER, "Taro")
    fake.add_user("U00000003", "Jiro")
    fake.add_message(CHANNEL, SAID, SECRET, thread_ts=TS)
    fake.add_message(CHANNEL, "1700000020.000100", PLAIN, user="U00000003", thread_ts=TS)
    fake.add_message(CHANNEL, LATER, "Sum up", user=OTHER, thread_ts=TS)
    fake.add_message(CHANNEL, AGAIN, "Again", user=OTHER, thread_ts=TS)
    async with SlackPipeline(store, fake, [Step("Noon."), Step("Noon again.")]) as here:
        await here.send(mention("Sum up", LATER, user=OTHER, thread_ts=TS))
        assert SECRET in str(here.model.requests[-1].messages)
        assert SECRET.encode() in await stored(redis)
        await here.send(WISHES[wish]())
        assert SECRET.encode() not in await stored(redis)
        await here.send(mention("Again", AGAIN, user=OTHER, thread_ts=TS))
        request = str(here.model.requests[-1].messages)
    assert (SECRET in request, PLAIN in request, "Sum up" in request) == (False, True, True)


async def test_words_that_are_deleted_during_the_turn_do_not_stay(
    store: Store, redis: Redis, fake: SlackFake
) -> None:
    """The model has read them by then; the turn that is stored has not."""
    fake.add_message(CHANNEL, SAID, SECRET, thread_ts=TS)
    fake.add_message(CHANNEL, LATER, "Sum up", thread_ts=TS)
    writing = Step("Noon.", gate=asyncio.Event())
    async with SlackPipeline(store, fake, [writing]) as here:
        await here.post(mention("Sum up", LATER, thread_ts=TS))
        processing = asyncio.create_task(here.process())
        await writing.at_gate.wait()
        assert SECRET in str(here.model.requests[-1].messages)
        await here.post(WISHES["deletion"]())
        assert writing.gate
        writing.gate.set()
        await processing
        await here.process()
    held = await stored(redis)
    assert (SECRET.encode() in held, b"Sum up" in held) == (False, True)
