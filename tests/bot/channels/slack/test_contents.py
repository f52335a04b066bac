"""Whatever shape a message to the bot has, it is read or answered with a sentence, and never met
with silence."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import Reply
from bot.channels.slack import Config
from bot.channels.slack.channel import Slack
from bot.channels.slack.formatting import LIMIT
from bot.channels.slack.live_answer import TextBuffer
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Media, Text
from tests.bot.channels.slack.pipeline import SlackPipeline
from tests.bot.channels.slack.rig import TS, Inbox, Rig, slack_host
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import (
    BOT,
    CHANNEL,
    DIRECT,
    JSON,
    USER,
    edited,
    image,
    mention,
    message,
)

ME = f"<@{BOT}>"
URL = "https://files.slack.com/files-pri/T1-F1/cat.png"


def rich(*elements: JSON, kind: str = "rich_text_section") -> list[JSON]:
    """The blocks of a message that somebody has written."""
    return [
        {
            "type": "rich_text",
            "block_id": "b1",
            "elements": [{"type": kind, "elements": list(elements)}],
        }
    ]


def words(text: str) -> JSON:
    return {"type": "text", "text": text}


def forward(**fields: Any) -> dict[str, Any]:
    """A forwarded message without words of the sender's."""
    share = {
        "is_share": True,
        "fallback": "[forwarded]",
        "ts": TS,
        "author_id": "U00000002",
        "channel_id": "C9",
    }
    return {"text": "", "attachments": [{**share, **fields}]}


def inner(blocks: list[JSON]) -> list[JSON]:
    """Blocks as a forwarded message has them."""
    return [{"team": "T00000001", "channel": "C9", "ts": TS, "message": {"blocks": blocks}}]


MENTIONED = {"type": "user", "user_id": BOT}
DEEP: Any = words("too deep")


# Deeper than Slack nests, and not too deep for the json of Python 3.11.
for _ in range(100):
    DEEP = {"type": "rich_text_section", "elements": [DEEP]}
READ: dict[str, tuple[JSON, str]] = {
    "blocks only": ({"text": "", "blocks": rich(words("a < b & "), words("c"))}, "a < b & c"),
    "a list": (
        {
            "text": "",
            "blocks": rich(
                {
                    "type": "rich_text_section",
                    "elements": [words("milk"), {"type": "emoji", "name": "cow"}],
                },
                {
                    "type": "rich_text_section",
                    "elements": [{"type": "link", "url": "https://a.example/?a=1&b=2"}],
                },
                kind="rich_text_list",
            ),
        },
        "milk:cow:\nhttps://a.example/?a=1&b=2",
    ),
    "all elements": (
        {
            "text": "",
            "blocks": rich(
                {"type": "link", "url": "https://a.example", "text": "a page"},
                {"type": "user", "user_id": USER},
                {"type": "usergroup", "usergroup_id": "S1"},
                {"type": "channel", "channel_id": "C2"},
                {"type": "broadcast", "range": "here"},
                {"type": "color", "value": "#fff"},
                {"type": "date", "timestamp": 1, "format": "{date}", "fallback": "today"},
                {"type": "unknown", "name": "?"},
                {"type": "text", "text": 5},
            ),
        },
        f"a page (https://a.example)<@{USER}><!subteam^S1>#C2@here#ffftoday",
    ),
    "forwarded blocks": (
        forward(message_blocks=inner(rich(words("launch it"), kind="rich_text_preformatted"))),
        "> launch it",
    ),
    "forwarded sections": (
        forward(
            message_blocks=inner(
                [
                    {"type": "header", "text": {"type": "plain_text", "text": "Plan <1>"}},
                    {"type": "section", "text": {"type": "mrkdwn", "text": "All &amp; sundry"}},
                    {"type": "actions", "elements": [{"type": "button", "text": words("Press")}]},
                ]
            )
        ),
        "> Plan <1>\n> All & sundry",
    ),
    "a forward without words": (forward(), "> [forwarded message, not readable here]"),
    "a forward of unknown shape": (
        forward(message_blocks=5),
        "> [forwarded message, not readable here]",
    ),
    "a forwarded file": (
        forward(files=[image("moving.gif", mimetype="image/gif")]),
        "[attached file, not readable here: moving.gif, image/gif]",
    ),
    "an action": ({"text": "waves", "subtype": "me_message"}, "waves"),
    "a broadcast": ({"text": "to all", "subtype": "thread_broadcast", "thread_ts": TS}, "to all"),
}


@pytest.mark.parametrize("shape", READ)
async def test_words_are_found_wherever_they_stand(rig: Rig, shape: str) -> None:
    """In blocks, in what is forwarded, or in a line that says what cannot be read."""
    fields, text = READ[shape]
    [(_, heard)] = await rig.receive(
        message(**{"ts": "1700000060.000200", "channel": DIRECT, **fields})
    )
    assert (heard.event, heard.message.text) == ("message", text)


async def test_a_mention_in_blocks_calls_the_bot(rig: Rig) -> None:
    """As one in the text does."""
    [(_, heard)] = await rig.receive(message("", TS, blocks=rich(MENTIONED, words(" Hello"))))
    assert heard.message.text == "Hello"


async def test_a_forwarded_picture_is_read(rig: Rig) -> None:
    """As one that is sent with the message."""
    share = forward(files=[image(url=URL)])
    [(_, heard)] = await rig.receive(message(ts=TS, channel=DIRECT, **share))
    assert heard.message.parts == (Media(URL, "image/png", 1_000),)


async def test_a_picture_forwarded_with_a_sparse_mention_is_looked_up(
    fake: SlackFake, rig: Rig
) -> None:
    """The event of a mention may lack what the message forwards."""
    fake.messages[CHANNEL][0].update(forward(files=[image(url=URL)]))
    [(place, heard)] = await rig.receive(mention("What is this?", TS))
    [event] = await rig.slack.enrich(place, [heard], is_new=True)
    assert event.message.parts == (Text("What is this?"), Media(URL, "image/png", 1_000))


async def test_blocks_within_blocks_without_end_are_no_trouble(rig: Rig) -> None:
    """What lies deeper than Slack nests blocks is left out."""
    [(_, heard)] = await rig.receive(message("", TS, channel=DIRECT, blocks=[words("near"), DEEP]))
    assert heard.message.text == "near"


async def test_an_edit_of_blocks_alone_is_an_edit(rig: Rig) -> None:
    """The words are compared, not the empty texts."""
    payload = edited("", "", TS, channel=DIRECT)
    payload["event"]["message"]["blocks"] = rich(words("New"))
    payload["event"]["previous_message"]["blocks"] = rich(words("Old"))
    [(_, heard)] = await rig.receive(payload)
    assert (heard.event, heard.message.text) == ("edited", "New")


@pytest.mark.parametrize(
    ("text", "channel", "locale", "beginning"),
    [
        (ME, DIRECT, "ja-JP", "どのようなご用件でしょうか。"),
        (ME, DIRECT, "en-US", "How can I help?"),
        ("", DIRECT, "en-US", "How can I help?"),
        (ME, CHANNEL, "ja-JP", "Kaiwaです。どのようなご用件でしょうか。"),
        (ME, CHANNEL, "en-US", "Hello, I’m Kaiwa. How can I help?"),
    ],
)
async def test_a_message_without_anything_gets_a_sentence(
    store: Store, fake: SlackFake, text: str, channel: str, locale: str, beginning: str
) -> None:
    """In the person's own language, and without the model."""
    fake.add_user(USER, "Hanako", locale=locale)
    fake.add_message(channel, TS, text)
    async with SlackPipeline(store, fake, [Step("never")]) as here:
        await here.send(message(text, TS, channel=channel))
        assert here.model.requests == []
    [shown] = fake.shown
    assert shown.startswith(beginning)


def test_a_reply_becomes_portions_with_its_other_marks() -> None:
    """Each is a delivery of its own."""
    slack = Slack(Config(), slack_host(Inbox(), LocalKeyValue()))
    portions = slack.split(Reply("a" * LIMIT + "\n\nb", failure="why"))
    assert portions == [Reply("a" * LIMIT, "why"), Reply("b", "why")]


@pytest.mark.parametrize("label", ["", "|here", f"|{'x' * 300}", "|two\nlines"])
@pytest.mark.parametrize("name", ["channel", "here", "everyone", f"subteam^S{'1' * 200}"])
@pytest.mark.parametrize("size", [1, 7, 120])
def test_no_pieces_of_a_stream_make_a_mention_of_everybody(
    name: str, label: str, size: int
) -> None:
    """However long its label is, and wherever the pieces end; what is no mention is shown at
    once."""
    text, buffer, shown = f"Hi <!{name}{label}> <b <!-- x", TextBuffer(), ""
    for start in range(0, len(text), size):
        buffer.add(text[start : start + size])
        shown += buffer.take()
    assert shown == f"Hi @{name.partition('^')[0]} <b <!-- x"
