"""What is meant for the bot, and in which conversation."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import InboundEvent
from bot.channels.slack.types import Address, ms, read_address, write_address
from bot.file_types import CANVAS
from bot.transcript import Author, Media, Message, Text
from tests.bot.channels.slack.rig import THREAD, TS, Rig, open_rig
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    deleted,
    edited,
    envelope,
    image,
    mention,
    message,
)
from tests.fakes.slack_streams import BOT_ID

REPLY = "1700000060.000200"
IN_DIRECT = f"slack:{TEAM}:{DIRECT}"
ME = f"<@{BOT}>"


async def test_a_mention_opens_a_thread(rig: Rig) -> None:
    """The thread under it is the conversation, and the answer goes there."""
    heard = await rig.receive(mention("Hello &amp; good day", TS))
    words = Message(
        f"{TEAM}:{CHANNEL}:{TS}",
        "user",
        (Text("Hello & good day"),),
        1_700_000_000_000,
        Author(USER),
    )
    address = Address(CHANNEL, TS, TS, language="en", partial=True, user=USER, team=TEAM)
    assert heard == (THREAD, InboundEvent(words, write_address(address), group=True, indexed=True))


async def test_a_message_is_heard_once_whatever_it_comes_as(rig: Rig) -> None:
    """Slack sends a mention as a message and as a mention, and each again when in doubt."""
    both = [message(f"{ME} Hello", TS), mention("Hello", TS)]
    for payload in (*both, *reversed(both)):
        assert await rig.send(payload) == 200
    assert rig.inbox.words == ["Hello"]


async def test_a_mention_without_its_authorizations_is_a_mention_all_the_same(rig: Rig) -> None:
    """Older apps' events do not say who the bot is; the first mention is then taken for it."""
    payload = {**mention("ask <@U0002> about it", TS), "authorizations": None}
    heard = await rig.receive(payload)
    assert heard
    assert heard[1].message.text == "ask <@U0002> about it"


async def test_a_message_in_a_1_to_1_needs_no_mention(rig: Rig) -> None:
    """The whole channel is one conversation, whatever its threads; the answer goes where the
    question stands."""
    first = await rig.receive(message("こんにちは", TS, channel=DIRECT))
    second = await rig.receive(message("And this?", REPLY, channel=DIRECT, thread_ts=TS))
    assert first
    assert second
    assert [first[0], second[0]] == [IN_DIRECT, IN_DIRECT]
    assert read_address(first[1].address) == Address(
        DIRECT, TS, language="ja", user=USER, team=TEAM
    )
    assert read_address(second[1].address) == Address(
        DIRECT, REPLY, TS, language="en", user=USER, team=TEAM
    )
    assert (first[1].group, second[1].group) == (False, False)


@pytest.mark.parametrize(
    "payload",
    [
        message("Not for the bot", TS),
        message("Nor this", REPLY, thread_ts=TS),
        message("<@U0002> nor this", TS),
        message(f"{ME} our own", TS, user=BOT),
        message("our own", TS, channel=DIRECT, user=BOT),
        message(f"{ME} another bot's", TS, bot_id="B9"),
        message(f"{ME} another app's", TS, app_id="A9"),
        message(f"{ME} an old bot's", TS, subtype="bot_message"),
        message(f"{ME} slackbot's", TS, user="USLACKBOT"),
        message(f"{ME} nobody's", TS, user=""),
        message(f"{ME} has joined", TS, subtype="channel_join"),
        message("Hello", "", channel=DIRECT),
        mention("Hello", TS, channel=""),
    ],
)
async def test_what_is_not_for_the_bot_is_left_alone(rig: Rig, payload: dict[str, Any]) -> None:
    """In channels only mentions are answered, and never a bot."""
    assert await rig.receive(payload) is None


async def test_the_bots_own_words_are_known_without_authorizations(
    fake: SlackFake, rig: Rig
) -> None:
    """Slack has told at the start who the bot is."""
    own = {**message("ours", TS, channel=DIRECT, user=BOT), "authorizations": []}
    assert await rig.receive(own) is None
    assert await rig.receive({**message(f"{ME} Hello", TS), "authorizations": []})


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"{ME}  Hello", "Hello"),
        (f"Hey {ME}, what about <@U0002>?", "Hey , what about <@U0002>?"),
        (f"<@{BOT}|kaiwa> &lt;b&gt; &amp;amp;", "<b> &amp;"),
        (f"{ME} see <https://example.com/a?b=1&amp;c=2>", "see https://example.com/a?b=1&c=2"),
        (f"{ME} see <https://example.com|the page>", "see the page (https://example.com)"),
        (f"{ME} <https://example.com|https://example.com>", "https://example.com"),
        (f"{ME} mail <mailto:a@b.example|a@b.example>", "mail a@b.example"),
        (f"{ME} in <#C2|general> and <#C3>", "in #general and #C3"),
        (f"{ME} <!here> <!subteam^S1|@team> <!date^1^x|today>", "@here @team today"),
        (f"{ME} 1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ],
)
async def test_slacks_markup_becomes_words(rig: Rig, text: str, plain: str) -> None:
    """A model reads what a person reads."""
    heard = await rig.receive(message(text, TS))
    assert heard
    assert heard[1].message.text == plain


async def test_files_are_references_and_what_cannot_be_read_is_named(rig: Rig) -> None:
    """What a model cannot be given it should at least know of."""
    url = "https://files.slack.com/files-pri/T1-F1/cat.png"
    files = [
        image(url=url),
        image("report.pdf", url, mimetype="application/pdf"),
        image("audio_message.mp4", url, mimetype="video/mp4", subtype="slack_audio"),
        image("main.py", url, mimetype="application/octet-stream"),
        image("canvas", url, title="Plan", mimetype="application/vnd.slack-docs", filetype="quip"),
        image("moving.gif", mimetype="image/gif"),
        image("huge.png", size=11 * 1024 * 1024),
        {"id": "F2", "mode": "tombstone"},
    ]
    heard = await rig.receive(
        message("Look", TS, channel=DIRECT, subtype="file_share", files=files)
    )
    assert heard
    words = """\
Look

[attached file, not readable here: moving.gif, image/gif]

[attached file, larger than the 10 MB that can be read: huge.png]

[attached file, not readable here: without a name]"""
    assert heard[1].message.parts == (
        Text(words),
        Media(url, "image/png", 1_000),
        Media(url, "application/pdf", 1_000, name="report.pdf"),
        Media(url, "audio/mp4", 1_000),
        Media(url, "text/plain", 1_000, name="main.py"),
        Media("F0001", CANVAS, 1_000, name="Plan"),
    )


async def test_a_shared_message_brings_its_words(rig: Rig) -> None:
    """Forwarding something to the bot is asking about it; a link's preview is not."""
    attachments = [{"text": "The plan &amp; all", "is_share": True}, {"text": "A preview"}]
    heard = await rig.receive(message("Sum up", TS, channel=DIRECT, attachments=attachments))
    assert heard
    assert heard[1].message.text == "Sum up\n\n> The plan & all"


async def test_a_mention_without_words_gets_our_own_sentence(rig: Rig) -> None:
    """And within a thread it asks about the thread."""
    alone = await rig.receive(message(ME, TS))
    within = await rig.receive(message(ME, REPLY, thread_ts=TS))
    assert alone
    assert within
    assert (alone[1].event, alone[1].target, alone[1].message.parts) == (
        "canned",
        "slack.mentioned",
        (),
    )
    assert (within[1].event, within[1].message.text) == ("message", "What do you say to this?")


async def test_a_thread_goes_on_without_mentions_only_where_that_is_wanted(fake: SlackFake) -> None:
    """And only one the bot takes part in."""
    reply = message("And tomorrow?", REPLY, thread_ts=TS)
    async with open_rig(fake, slack_follow_threads=True) as rig:
        assert await rig.receive(reply) is None
        heard = await rig.receive(mention("Weather?", TS))
        assert heard
        await rig.slack.enrich(THREAD, [heard[1]], is_new=True)
        await rig.slack.tasks.join()
        followed = await rig.receive(reply)
        assert followed
        assert (followed[0], followed[1].message.text) == (THREAD, "And tomorrow?")
        rig.kv.away = True
        assert await rig.send(message("More", "1700000070.000300", thread_ts=TS)) == 503


@pytest.mark.parametrize(
    ("payload", "conversation", "event", "words"),
    [
        (edited("New", "Old", TS, channel=DIRECT), IN_DIRECT, "edited", "New"),
        (edited(f"{ME} new", f"{ME} old", TS), THREAD, "edited", "new"),
        (edited("no mention now", f"{ME} old", TS), THREAD, "edited", "no mention now"),
        (edited(f"{ME} new", f"{ME} old", REPLY, thread_ts=TS), THREAD, "edited", "new"),
        (edited("", "Old", TS, channel=DIRECT), IN_DIRECT, "unsent", ""),
        (edited("gone", "Old", TS, channel=DIRECT, subtype="tombstone"), IN_DIRECT, "unsent", ""),
        (deleted("Old", TS, channel=DIRECT), IN_DIRECT, "unsent", ""),
        (deleted(f"{ME} old", TS), THREAD, "unsent", ""),
    ],
)
async def test_edits_and_deletions_concern_the_message_they_change(
    rig: Rig, payload: dict[str, Any], conversation: str, event: str, words: str
) -> None:
    """Under an id of their own, so that they are taken once, too."""
    heard = await rig.receive(payload)
    assert heard
    place, changed = heard
    inner = payload["event"]["previous_message"]
    channel = payload["event"]["channel"]
    assert (place, changed.event, changed.message.text) == (conversation, event, words)
    assert changed.target == f"{TEAM}:{channel}:{inner['ts']}"
    assert changed.message.id == f"{TEAM}:{channel}:{payload['event']['ts']}"
    assert await rig.receive(payload) is None


@pytest.mark.parametrize(
    "payload",
    [
        edited("New", "Old", TS),
        deleted("Old", TS),
        edited("Same", "Same", TS, channel=DIRECT),
        edited("New", "Old", TS, channel=DIRECT, bot_id=BOT_ID),
        edited("New", "Old", TS, channel=DIRECT, user=BOT),
        edited("New", "Old", TS, channel=DIRECT, user=""),
        deleted("Old", TS, channel=DIRECT, bot_id=BOT_ID),
        envelope(
            {"type": "message", "subtype": "message_deleted", "channel": CHANNEL, "deleted_ts": TS}
        ),
        envelope({"type": "message", "subtype": "message_deleted", "channel": DIRECT}),
        envelope(
            {
                "type": "message",
                "subtype": "message_changed",
                "channel": DIRECT,
                "message": {"text": "x"},
            }
        ),
    ],
)
async def test_changes_that_concern_nobody_are_left_alone(
    rig: Rig, payload: dict[str, Any]
) -> None:
    """Other people's messages, link previews, and what the bot itself has changed."""
    assert await rig.receive(payload) is None


async def test_a_deletion_with_nothing_but_channel_and_time_counts(rig: Rig) -> None:
    """As Slack documents it; its id is not that of the message."""
    deletion = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": DIRECT,
        "deleted_ts": TS,
    }
    assert await rig.receive(message("Old", TS, channel=DIRECT))
    heard = await rig.receive(envelope(deletion))
    assert heard
    assert (heard[0], heard[1].event, heard[1].target) == (
        IN_DIRECT,
        "unsent",
        f"{TEAM}:{DIRECT}:{TS}",
    )


async def test_changes_in_a_thread_the_bot_takes_part_in_are_heard(rig: Rig) -> None:
    """There every message may have become part of the history."""
    await rig.kv.set(f"slack:takes_part:{THREAD}", b"1", 60)
    heard = await rig.receive(edited("New", "Old", REPLY, thread_ts=TS))
    assert heard
    assert (heard[0], heard[1].event) == (THREAD, "edited")


@pytest.mark.parametrize(
    ("allowed", "channel", "user", "outcome"),
    [
        ({}, CHANNEL, "U0002", "message"),
        ({"allowed_users": (USER,)}, CHANNEL, USER, "message"),
        ({"allowed_users": (USER,)}, CHANNEL, "U0002", None),
        ({"allowed_users": (USER,)}, DIRECT, "U0002", "canned"),
        ({"allowed_channels": ("C0002",)}, CHANNEL, USER, None),
        ({"allowed_channels": (CHANNEL,)}, CHANNEL, USER, "message"),
        ({"allowed_channels": ("C0002",)}, DIRECT, USER, "message"),
    ],
)
async def test_only_those_allowed_are_answered(
    fake: SlackFake, allowed: dict[str, Any], channel: str, user: str, outcome: str | None
) -> None:
    """Silence among others, one sentence face to face."""
    async with open_rig(fake, **allowed) as rig:
        heard = await rig.receive(message(f"{ME} Hello", TS, channel=channel, user=user))
        assert (heard[1].event if heard else None) == outcome
        if outcome == "canned":
            assert heard
            assert heard[1].target == "slack.not_allowed"


@pytest.mark.parametrize(
    ("ts", "at"),
    [
        ("1595926230.009600", 1_595_926_230_009),
        ("1595926230", 1_595_926_230_000),
        *((wrong, 0) for wrong in ("", "x", "1.x", "9" * 5_000, "1" * 25)),
    ],
)
def test_timestamps_are_milliseconds(ts: str, at: int) -> None:
    """Slack writes seconds and a running number."""
    assert ms(ts) == at
