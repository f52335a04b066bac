"""What is meant for the bot, and in which conversation."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import InboundEvent, PlaceSettings
from bot.channels.slack.types import Address, ms, read_address, write_address
from bot.file_types import CANVAS
from bot.transcript import Author, Media, Message, Text
from tests.bot.channels.slack.rig import THREAD, TS, Rig, open_rig
from tests.facts.read import facts
from tests.fakes import slack_events
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    TEAM,
    USER,
    command,
    deleted,
    edited,
    envelope,
    home_opened,
    image,
    mention,
    message,
)
from tests.fakes.slack_streams import BOT_ID

REPLY = "1700000060.000200"
IN_DIRECT = f"slack:{TEAM}:{DIRECT}"
ME = f"<@{BOT}>"
FACTS: dict[str, dict[str, Any]] = facts("slack")
# Of what we accept, the parts of the conversation's name, the event and how its words begin; of all
# else nothing is.
ACCEPTED = {
    "test_events.py:valid_event_body": (4, "message", "xxx"),
    "test_events_org_apps.py:event_payload_3": (4, "canned", ""),
    "test_events_shared_channels.py:valid_event_body": (4, "message", "xxx"),
    "channel-mention__slack:mention": (4, "message", "#C0"),
    "dm__slack:mention": (4, "message", "xxx"),
    "dm__slack:dmMessage": (3, "message", "xxx"),
    "slash-commands__slack:slashCommand": (3, "message", "/he"),
    "slash-commands__slack:slashCommandWithArgs": (3, "message", "xxx"),
    "streaming__slack:aiMention": (4, "message", "xxx"),
    "streaming__slack:aiMentionWithFile": (4, "message", "xxx"),
}


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
    assert heard == [
        (THREAD, InboundEvent(words, write_address(address), group=True, indexed=True))
    ]


async def test_a_message_is_heard_once_whatever_it_comes_as(rig: Rig) -> None:
    """Slack sends a mention as a message and as a mention, and each again when in doubt."""
    both = [message(f"{ME} Hello", TS), mention("Hello", TS)]
    for payload in (*both, *reversed(both)):
        assert await rig.send(payload) == 200
    assert rig.inbox.words == ["Hello"]


async def test_a_mention_without_its_authorizations_is_a_mention_all_the_same(rig: Rig) -> None:
    """Older apps' events do not say who the bot is; the first mention is then taken for it."""
    payload = {**mention("ask <@U0002> about it", TS), "authorizations": None}
    [(_, heard)] = await rig.receive(payload)
    assert heard.message.text == "ask <@U0002> about it"


async def test_a_message_in_a_1_to_1_needs_no_mention(rig: Rig) -> None:
    """The whole channel is one conversation, whatever its threads; the answer goes where the
    question stands."""
    [(first_in, first)] = await rig.receive(message("こんにちは", TS, channel=DIRECT))
    [(second_in, second)] = await rig.receive(
        message("And this?", REPLY, channel=DIRECT, thread_ts=TS)
    )
    assert [first_in, second_in] == [IN_DIRECT, IN_DIRECT]
    assert read_address(first.address) == Address(DIRECT, TS, language="ja", user=USER, team=TEAM)
    assert read_address(second.address) == Address(
        DIRECT, REPLY, TS, language="en", user=USER, team=TEAM
    )
    assert (first.group, second.group) == (False, False)


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
    assert await rig.receive(payload) == []


async def test_the_bots_own_words_are_known_without_authorizations(
    fake: SlackFake, rig: Rig
) -> None:
    """Slack has told at the start who the bot is."""
    own = {**message("ours", TS, channel=DIRECT, user=BOT), "authorizations": []}
    assert await rig.receive(own) == []
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
    [(_, heard)] = await rig.receive(message(text, TS))
    assert heard.message.text == plain


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
    [(_, heard)] = await rig.receive(
        message("Look", TS, channel=DIRECT, subtype="file_share", files=files)
    )
    words = """\
Look

[attached file, not readable here: moving.gif, image/gif]

[attached file, larger than the 10 MB that can be read: huge.png]

[attached file, not readable here: without a name]"""
    assert heard.message.parts == (
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
    [(_, heard)] = await rig.receive(message("Sum up", TS, channel=DIRECT, attachments=attachments))
    assert heard.message.text == "Sum up\n\n> The plan & all"


async def test_a_mention_without_words_gets_our_own_sentence(rig: Rig) -> None:
    """And within a thread it asks about the thread."""
    [(_, alone)] = await rig.receive(message(ME, TS))
    [(_, within)] = await rig.receive(message(ME, REPLY, thread_ts=TS))
    assert (alone.event, alone.target, alone.message.parts) == (
        "canned",
        "slack.mentioned",
        (),
    )
    assert (within.event, within.message.text) == ("message", "What do you say to this?")


async def test_a_thread_that_the_bot_has_joined_goes_on_without_mentions(
    fake: SlackFake,
) -> None:
    """Unless the message mentions somebody else, or no channel's thread is to go on so."""
    reply = message("And tomorrow?", REPLY, thread_ts=TS)
    async with open_rig(fake) as rig:
        assert await rig.receive(reply) == []
        [(_, heard)] = await rig.receive(mention("Weather?", TS))
        await rig.slack.enrich(THREAD, [heard], is_new=True)
        await rig.slack.tasks.join()
        [(followed_in, followed)] = await rig.receive(reply)
        assert (followed_in, followed.message.text) == (THREAD, "And tomorrow?")
        for other in ("<@U7> and you?", "Hm <@U7>?", "<!subteam^S1> look"):
            assert await rig.receive(message(other, "1700000070.0002", thread_ts=TS)) == []
        rig.kv.away = True
        assert await rig.send(message("More", "1700000070.000300", thread_ts=TS)) == 503
    async with open_rig(fake, kv=rig.kv, slack_follow_threads=False) as rig:
        rig.kv.away = False
        assert await rig.receive(reply) == []


def in_place(**fields: Any) -> dict[str, Any]:
    """What the host says of each place."""
    return {"settings_of": lambda _conversation, _person: PlaceSettings(**fields)}


async def test_a_place_says_which_messages_call_the_bot(fake: SlackFake) -> None:
    """More than the channel's setting, or less."""
    reply = message("And tomorrow?", REPLY, thread_ts=TS)
    for speak, heard in (("mention", []), ("thread", []), ("all", ["And tomorrow?"])):
        async with open_rig(fake, **in_place(speak=speak)) as rig:
            await rig.receive(reply)
            assert rig.inbox.words == heard
    async with open_rig(fake, slack_follow_threads=False, **in_place(speak="thread")) as rig:
        [(_, asked)] = await rig.receive(mention("Weather?", TS))
        await rig.slack.enrich(THREAD, [asked], is_new=True)
        await rig.slack.tasks.join()
        assert len(await rig.receive(reply)) == 1


def said_by_bot(number: int, bot_id: str = "B7", **fields: Any) -> dict[str, Any]:
    """A bot mentions this one in the thread."""
    ts = f"17000000{number}0.000100"
    return message(f"{ME} {number}", ts, thread_ts=TS, user="U7", bot_id=bot_id, **fields)


async def test_four_answers_in_a_row_are_given_where_bots_are_named(fake: SlackFake) -> None:
    """A message that comes as two events counts once; the answer to a person is the first of a
    row, and what people say to each other begins one too."""
    async with open_rig(fake, **in_place(bots=("B7",))) as rig:
        assert await rig.receive(said_by_bot(10, "B8")) == []
        for number in range(11, 17):
            await rig.receive(said_by_bot(number))
            await rig.receive(said_by_bot(number))
        assert rig.inbox.words == ["11", "12", "13", "14"]
        await rig.receive(mention("A person", "1700000190.000100", thread_ts=TS))
        for number in range(20, 25):
            await rig.receive(said_by_bot(number, subtype="bot_message"))
        assert rig.inbox.words[4:] == ["A person", "20", "21", "22"]
        assert rig.inbox.accepted[-1][1].author_id == "U7"
        among_people = message("<@U2> what do you say?", "1700000250.000100", thread_ts=TS)
        assert await rig.receive(among_people) == []
        for number in range(26, 32):
            await rig.receive(said_by_bot(number))
        assert rig.inbox.words[8:] == ["26", "27", "28", "29"]


async def test_what_bots_read_is_posted_whole(fake: SlackFake) -> None:
    """Also the answer to a person there."""
    for bots in ((), ("B7",)):
        async with open_rig(fake, **in_place(bots=bots)) as rig:
            [(_, asked)] = await rig.receive(mention("Hello", f"170000000{len(bots)}.000100"))
            assert read_address(asked.address).whole == bool(bots)


async def test_a_bot_neither_approves_nor_rejects(fake: SlackFake) -> None:
    """Not even what it has asked for itself: a call that acts is a person's decision."""
    async with open_rig(fake, **in_place(bots=("B7",), speak="all")) as rig:
        for number, words in enumerate(("yes", f"{ME} Yes!", f"{ME} はい", "no", "Launch it")):
            ts = f"170000002{number}.000100"
            await rig.receive(message(words, ts, thread_ts=TS, user="U7", bot_id="B7"))
        assert rig.inbox.words == ["Launch it"]


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
    [(place, changed)] = await rig.receive(payload)
    inner = payload["event"]["previous_message"]
    channel = payload["event"]["channel"]
    assert (place, changed.event, changed.message.text) == (conversation, event, words)
    assert changed.target == f"{TEAM}:{channel}:{inner['ts']}"
    assert changed.message.id == f"{TEAM}:{channel}:{payload['event']['ts']}"
    assert await rig.receive(payload) == []


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
    assert await rig.receive(payload) == []


async def test_a_deletion_with_nothing_but_channel_and_time_counts(rig: Rig) -> None:
    """As Slack documents it; its id is not that of the message."""
    deletion = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": DIRECT,
        "deleted_ts": TS,
    }
    assert await rig.receive(message("Old", TS, channel=DIRECT))
    [(place, heard)] = await rig.receive(envelope(deletion))
    assert (place, heard.event, heard.target) == (
        IN_DIRECT,
        "unsent",
        f"{TEAM}:{DIRECT}:{TS}",
    )


async def test_an_edit_that_leaves_no_words_counts(rig: Rig) -> None:
    """Also where Slack does not say what was there before."""
    payload = edited("", "Old", TS, channel=DIRECT)
    del payload["event"]["previous_message"]
    [(place, heard)] = await rig.receive(payload)
    assert (place, heard.event, heard.target) == (IN_DIRECT, "unsent", f"{TEAM}:{DIRECT}:{TS}")


async def test_changes_in_a_thread_the_bot_takes_part_in_are_heard(rig: Rig) -> None:
    """There every message may have become part of the history."""
    await rig.kv.set(f"slack:takes_part:{THREAD}", b"1", 60)
    [(place, heard)] = await rig.receive(edited("New", "Old", REPLY, thread_ts=TS))
    assert (place, heard.event) == (THREAD, "edited")


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
    said = [(arrival.event, arrival.target) for _, arrival in heard]
    target = "slack.not_allowed" if outcome == "canned" else ""
    assert said == ([(outcome, target)] if outcome else [])


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


def body_of(payload: dict[str, Any]) -> bytes:
    """The bytes as Slack sends them; a bare inner event gets its envelope."""
    is_interaction = payload.get("type") in slack_events.INTERACTIONS
    if is_interaction or {"command", "event", "challenge"} & payload.keys():
        return slack_events.as_body(payload)
    return slack_events.as_body(slack_events.envelope(payload))


@pytest.mark.parametrize("name", FACTS)
async def test_a_body_is_taken(rig: Rig, name: str) -> None:
    """200, and accepted is only what is meant for the bot."""
    answer = await rig.post(body_of(FACTS[name]))
    assert answer.status_code == 200
    accepted = [
        (len(conversation.split(":")), arrival.event, arrival.message.text[:3])
        for conversation, arrival in rig.inbox.accepted
    ]
    assert accepted == ([ACCEPTED[name]] if name in ACCEPTED else [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "/help"),
        ("help", "help"),
        ("stop", "stop"),
        ("usage", "usage"),
        ("forget me", "forget me"),
        ("12 &lt; 3?", "12 < 3?"),
        ("weather Tokyo", "/weather Tokyo"),
        ("Weather", "/Weather"),
        ("天気 東京", "/天気 東京"),
        ("weathered wood?", "weathered wood?"),
    ],
)
async def test_a_command_is_words_for_the_senders_eyes(
    fake: SlackFake, rig: Rig, text: str, words: str
) -> None:
    """In a conversation of their own, so that nobody else's thread is touched by it."""
    url = f"{fake.origin}/commands/1"
    [(conversation, arrival)] = await rig.receive(command(text, response_url=url))
    assert (conversation, arrival.message.text, arrival.group) == (
        f"slack:{TEAM}:{USER}",
        words,
        False,
    )
    assert arrival.message.author == Author(USER)
    assert read_address(arrival.address) == Address(
        USER, response_url=url, language="ja" if "天" in words else "en"
    )


async def test_a_command_in_a_1_to_1_belongs_to_it(rig: Rig) -> None:
    """`/kaiwa reset` there forgets what was said there; a response URL that is not Slack's is not
    used."""
    await rig.send(home_opened(tab="messages"))
    [(place, heard)] = await rig.receive(
        command("reset", channel=DIRECT, response_url="https://evil.example/x")
    )
    assert (place, read_address(heard.address)) == (IN_DIRECT, Address(DIRECT, language="en"))


async def test_a_command_of_somebody_not_allowed_is_told_so(fake: SlackFake) -> None:
    """Slack shows a command that gets no answer as broken."""
    async with open_rig(fake, allowed_users=("U0009",)) as rig:
        [(_, heard)] = await rig.receive(command("help"))
        assert (heard.event, heard.target) == ("canned", "slack.not_allowed")


async def test_a_command_where_nothing_is_answered_gets_no_answer(fake: SlackFake) -> None:
    """Though its conversation is one of its own, which the channel's settings do not name."""

    def settings_of(conversation: str, _person: str) -> PlaceSettings:
        return PlaceSettings(speak="never" if conversation == f"slack:{TEAM}:{CHANNEL}" else "")

    async with open_rig(fake, settings_of=settings_of) as rig:
        assert await rig.receive(command("help")) == []
        assert len(await rig.receive(command("help", channel="C0009"))) == 1


async def test_a_command_without_its_parts_is_acknowledged(rig: Rig) -> None:
    """There is nobody to answer."""
    assert await rig.receive({"command": "/kaiwa", "text": "help"}) == []
