"""A turn knows who speaks, and what its thread was about."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.channels.slack.lookups import EARLIER
from bot.transcript import Author, Media, Text
from tests.bot.channels.slack.rig import QUICK, THREAD, TS, Rig, arrival, open_rig
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import BOT, CHANNEL, DIRECT, TEAM, USER, image
from tests.fakes.slack_streams import BOT_ID

HANAKO = Author(USER, "Hanako", "ja-JP", "Asia/Tokyo")
LATER = "1700000100.000100"
REPLIES = "conversations.replies"


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
    [prepared] = await rig.slack.enrich(THREAD, [arrival("Hello")], is_new=False)
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
    [prepared] = await rig.slack.enrich(THREAD, [arrival("Hello")], is_new=False)
    assert prepared.message.author == Author(USER)
    assert (f"profile:slack:{USER}" in rig.kv.stored) == (trouble == "shape")


async def test_a_store_that_is_away_or_spoilt_costs_a_look_up(fake: SlackFake, rig: Rig) -> None:
    """Names are had all the same."""
    rig.kv.stored[f"profile:slack:{USER}"] = b"{"
    [prepared] = await rig.slack.enrich(THREAD, [arrival("Hello")], is_new=False)
    rig.kv.away = True
    [again] = await rig.slack.enrich(THREAD, [arrival("Hello")], is_new=False)
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
    [asked] = await rig.slack.enrich(THREAD, [arrival("Sum up", LATER)], is_new=True)
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
    [asked] = await rig.slack.enrich(THREAD, [arrival("Sum up", LATER)], is_new=True)
    lines = [spoken(quote.line) for quote in asked.message.quotes]
    assert len(lines) == 50
    assert [line.split()[2] for line in (lines[0], lines[-1])] == ["400", "449"]
    assert len(fake.called(REPLIES)) == 3


async def test_what_was_said_before_is_capped(fake: SlackFake, rig: Rig) -> None:
    """A thread of essays leaves room for the question."""
    for n in range(20):
        fake.add_message(CHANNEL, f"{1_700_000_001 + n}.000100", f"{n} {'x' * 2_000}", thread_ts=TS)
    [asked] = await rig.slack.enrich(THREAD, [arrival("Sum up", LATER)], is_new=True)
    numbers = [spoken(quote.line).split('"')[1].split()[0] for quote in asked.message.quotes]
    assert numbers == [str(n) for n in range(8, 20)]


async def test_a_thread_is_read_once(fake: SlackFake, rig: Rig) -> None:
    """After a crash the same turn reads it again; after /reset what was to be forgotten stays
    forgotten."""
    for asked, count in ((arrival("Sum up", LATER), 1),) * 2 + (
        (arrival("Again", "1700000300.000100"), 0),
    ):
        [enriched] = await rig.slack.enrich(THREAD, [asked], is_new=True)
        assert len(enriched.message.quotes) == count


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
    [enriched] = await rig.slack.enrich(THREAD, [asked[what]], is_new=what != "known")
    assert enriched.message.quotes == ()
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
    [enriched] = await rig.slack.enrich(THREAD, [arrival("Hi", LATER)], is_new=True)
    assert enriched.message.quotes == ()


async def test_files_a_mention_left_out_are_looked_up(fake: SlackFake, rig: Rig) -> None:
    """The event of a mention may lack them; the message itself has them."""
    url = "https://files.slack.com/files-pri/T1-F1/cat.png"
    fake.messages[CHANNEL][0]["files"] = [image(url=url)]
    [prepared] = await rig.slack.enrich(
        THREAD, [arrival("What is this?", partial=True)], is_new=True
    )
    assert prepared.message.parts == (Text("What is this?"), Media(url, "image/png", 1_000))
    [plain] = await rig.slack.enrich(
        THREAD, [arrival("What?", "1700000000.000200", partial=True)], is_new=False
    )
    assert plain.message.parts == (Text("What?"),)


async def test_slack_is_not_waited_for_long(fake: SlackFake) -> None:
    """What it does not tell in time is left out."""
    async with open_rig(fake, timing=replace(QUICK, lookup_timeout_s=0.0)) as rig:
        [prepared] = await rig.slack.enrich(THREAD, [arrival("Hi", LATER)], is_new=True)
        assert prepared.message.author == Author(USER)
