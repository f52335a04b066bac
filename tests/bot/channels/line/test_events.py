"""What arrives by which event, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from bot.channels import InboundEvent
from bot.channels.line.inbound import MOST_MEMBERS
from bot.channels.line.types import Address, read_address
from bot.transcript import Author, Media, Message, Part, Text, encode
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, IN_ROOM, NOW, Rig, lone_rig, open_rig  # noqa: F401 -- a fixture
from tests.bot.harness import decision_of
from tests.fakes.line_events import (
    GROUP,
    JSON,
    ROOM,
    USER,
    addressed_message,
    again,
    event,
    mention,
    source,
    text_message,
)

STRANGER = "U" + "9" * 32
DAY_MS = 86_400_000


def content(kind: str, **fields: Any) -> JSON:
    """A message of another kind than text."""
    return {"id": "325708", "type": kind, **fields}


async def test_a_text_arrives_with_its_way_back(rig: Rig) -> None:
    """Words, author and time; tokens and our time of receipt in the address."""
    tokens = {"quoteToken": "quote", "markAsReadToken": "read"}
    spoken = event(
        timestamp=5, replyToken="reply", message={**text_message("Hello"), "id": "1", **tokens}
    )
    [arrival] = await rig.receive(spoken)
    address = Address(NOW, "reply", "quote", "read")
    message = Message("1", "user", (Text("Hello"),), 5, Author(USER))
    assert arrival == InboundEvent(message, encode(address).decode())
    assert rig.inbox[0][0] == IN_PRIVATE


@pytest.mark.parametrize(
    ("timestamp", "since"), [(NOW - 5_000, NOW - 5_000), (NOW + 5_000, NOW), (0, NOW)]
)
async def test_a_redelivered_token_is_as_old_as_its_event(
    rig: Rig, timestamp: int, since: int
) -> None:
    """Its minute began with the event; a clock ahead of ours, and an event without a time, change
    nothing."""
    again: JSON = {"timestamp": timestamp, "deliveryContext": {"isRedelivery": True}}
    [arrival] = await rig.receive(event(replyToken="reply", message=text_message("Hello"), **again))
    assert read_address(arrival.address).received_at == since


@pytest.mark.parametrize(("place", "conversation"), [(GROUP, IN_GROUP), (ROOM, IN_ROOM)])
async def test_where_several_talk_the_bot_is_called_by_name(
    rig: Rig, place: str, conversation: str
) -> None:
    """Only what mentions it is accepted, and the mention is no part of the words."""
    await rig.receive(event(place=place, message=text_message("not for the bot")))
    other = text_message("@Taro hi", mention=mention("@Taro hi", "@Taro", is_self=False))
    await rig.receive(event(place=place, message=other))
    await rig.receive(event(place=place, message=addressed_message("What time is it?")))
    [(where, arrival)] = rig.inbox
    assert (where, arrival.message.text, arrival.group) == (conversation, "What time is it?", True)


@pytest.mark.parametrize(
    ("text", "called", "words"),
    [
        ("🍎 @bot 天気は？ @All", "@bot", "🍎 天気は？ @All"),
        ("天気は？@bot", "@bot", "天気は？"),
        ("@bot", "@bot", "@bot"),
        ("@🍎🍏 hi 👋", "@🍎🍏", "hi 👋"),
        ("hi @bot\n\nand more", "@bot", "hi and more"),
    ],
)
async def test_the_mention_is_cut_out_by_utf_16_places(
    rig: Rig, text: str, called: str, words: str
) -> None:
    """LINE counts code units, so an emoji counts twice; a mention alone stays, as a call without
    words."""
    message = text_message(text, mention=mention(text, called))
    [arrival] = await rig.receive(event(place=GROUP, message=message))
    assert arrival.message.text == words


@pytest.mark.parametrize(
    "place", [{"index": -3, "length": 99}, {"index": 50, "length": 2}, {"index": 1, "length": -1}]
)
async def test_a_mention_at_an_impossible_place_breaks_nothing(rig: Rig, place: JSON) -> None:
    """What can be read of the words is."""
    message = text_message(
        "🍎 hello", mention={"mentionees": [{"type": "user", "isSelf": True, **place}]}
    )
    [arrival] = await rig.receive(event(place=GROUP, message=message))
    assert arrival.message.text


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (content("sticker", keywords=["happy", "thanks"]), Text("[sticker: happy, thanks]")),
        (
            content("sticker", text="Just sticker", keywords=["Love"]),
            Text("[sticker: Just sticker, Love]"),
        ),
        (content("sticker"), Text("[sticker]")),
        (
            content(
                "location",
                title="Cafe",
                address="Tokyo",
                latitude=35.65910807942215,
                longitude=139.5,
            ),
            Text("[location: Cafe, Tokyo, 35.65910807942215, 139.5]"),
        ),
        (content("location", latitude=-1, longitude=2), Text("[location: -1.0, 2.0]")),
        (content("image", contentProvider={"type": "line"}), Media("325708", "image/jpeg")),
        (content("image"), Media("325708", "image/jpeg")),
    ],
)
async def test_stickers_places_and_images_are_given_to_the_model(
    rig: Rig, message: JSON, part: Part
) -> None:
    """In 1:1; in a group nobody can mention the bot in them."""
    [arrival] = await rig.receive(event(message=message))
    assert (arrival.event, arrival.message.parts) == ("message", (part,))
    assert await rig.receive(event(place=GROUP, message=message)) == []


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (content("video", contentProvider={"type": "external"}), "line.kind_video"),
        (content("audio", contentProvider={"type": "external"}), "line.kind_audio"),
        (content("file", fileName="a.zip", fileSize=1), "line.kind_file"),
        (content("file", fileName="a.pdf", fileSize=13 * 1024 * 1024), "line.kind_file"),
        (content("hologram"), "line.kind_other"),
        (
            content(
                "image",
                contentProvider={"type": "external", "originalContentUrl": "http://10.0.0.1/"},
            ),
            "line.kind_other",
        ),
    ],
)
async def test_what_the_model_cannot_take_is_answered_with_a_sentence(
    rig: Rig, message: JSON, sentence: str
) -> None:
    """In 1:1; in a group with silence. An image at somebody's own address is not fetched either."""
    [arrival] = await rig.receive(event(message=message, replyToken="reply"))
    assert (arrival.event, arrival.target, arrival.message.parts) == ("canned", sentence, ())
    assert '"replyToken":"reply"' in arrival.address
    assert await rig.receive(event(place=GROUP, message=message)) == []


@pytest.mark.parametrize(("kind", "place"), [("follow", USER), ("join", GROUP), ("join", ROOM)])
async def test_the_bot_greets_once(rig: Rig, kind: str, place: str) -> None:
    """Whoever follows it, or the group it joins; also if LINE delivers that again."""
    came = event(kind, place, replyToken="reply")
    greetings = await rig.receive(came, again(came))
    assert [(arrival.event, arrival.target) for arrival in greetings] == [
        ("canned", "line.greeting")
    ]


@pytest.mark.parametrize(("kind", "place"), [("unfollow", USER), ("leave", GROUP)])
async def test_whoever_goes_is_forgotten(rig: Rig, kind: str, place: str) -> None:
    """The conversation ends."""
    [arrival] = await rig.receive(event(kind, place))
    assert (arrival.event, arrival.message.parts) == ("left", ())


async def test_a_message_taken_back_is_named(rig: Rig) -> None:
    """By its own id, in an event with another."""
    [arrival] = await rig.receive(
        event("unsend", GROUP, webhookEventId="E1", unsend={"messageId": "325708"})
    )
    assert (arrival.event, arrival.target, arrival.message.id) == ("unsent", "325708", "E1")
    assert await rig.receive(event("unsend")) == []


async def test_an_edited_message_has_new_words(rig: Rig) -> None:
    """In 1:1 as they stand, in a group without the mention."""
    [arrival] = await rig.receive(
        event("messageEdited", webhookEventId="E1", message=content("text", text="New"))
    )
    assert (arrival.event, arrival.target, arrival.message.id) == ("edited", "325708", "E1")
    assert arrival.message.text == "New"
    edited = addressed_message("Newer") | {"id": "325708"}
    [arrival] = await rig.receive(event("messageEdited", GROUP, message=edited))
    assert (arrival.target, arrival.message.text) == ("325708", "Newer")
    assert await rig.receive(event("messageEdited", message=content("image"))) == []


@pytest.mark.parametrize(
    ("data", "approved"), [("approval.approve q1", True), ("approval.reject q1", False)]
)
async def test_a_pressed_button_is_a_decision(rig: Rig, data: str, approved: bool) -> None:
    """Under the event's id, with the way back that it brings; among others too, and of whom LINE
    does not name."""
    pressed = event(
        "postback", webhookEventId="E1", timestamp=5, replyToken="reply", postback={"data": data}
    )
    [arrival] = await rig.receive(pressed, again(pressed))
    address = encode(Address(NOW, "reply")).decode()
    message = Message("E1", "user", (), 5, Author(USER))
    assert arrival == decision_of(message, "q1", approved=approved, address=address)
    [arrival] = await rig.receive(event("postback", GROUP, None, postback={"data": data}))
    assert (arrival.group, arrival.event, arrival.message.author) == (True, "action", None)


async def test_buttons_heed_the_lists_and_standby() -> None:
    """A press is not heard where words would not be; alone with the bot it is told so."""
    press: JSON = {"postback": {"data": "approval.approve q1"}}
    async with open_rig(allowed_users=[STRANGER]) as rig:
        assert (
            await rig.receive(
                event("postback", mode="standby", user=STRANGER, place=STRANGER, **press)
            )
            == []
        )
        assert await rig.receive(event("postback", GROUP, **press)) == []
        [reported] = await rig.receive(event("postback", **press))
        [decided] = await rig.receive(event("postback", GROUP, STRANGER, **press))
    assert (reported.event, reported.target, decided.event) == (
        "canned",
        "line.not_allowed",
        "action",
    )


async def test_on_standby_the_bot_is_silent(rig: Rig) -> None:
    """Another module answers then; but what is taken back or left is gone all the same."""
    await rig.receive(
        event(mode="standby", message=text_message("hi")),
        event("follow", mode="standby"),
        event("unsend", mode="standby", unsend={"messageId": "1"}),
        event("leave", GROUP, mode="standby"),
    )
    assert [arrival.event for arrival in rig.arrivals] == ["unsent", "left"]


@pytest.mark.parametrize(("place", "conversation"), [(GROUP, IN_GROUP), (ROOM, IN_ROOM)])
async def test_members_who_leave_are_named(rig: Rig, place: str, conversation: str) -> None:
    """All at once and once, whether the bot is on standby or not; whoever LINE does not name is
    left out."""
    members = [
        {"type": "user", "userId": USER},
        {"type": "user"},
        {"type": "user", "userId": STRANGER},
    ]
    gone = event(
        "memberLeft",
        place,
        None,
        mode="standby",
        webhookEventId="E1",
        timestamp=5,
        left={"members": members},
    )
    [arrival] = await rig.receive(gone, again(gone))
    leavers = f"{USER} {STRANGER}"
    assert arrival == InboundEvent(
        Message("E1", "user", (), 5), group=True, event="members_left", target=leavers
    )
    assert rig.inbox[0][0] == conversation


@pytest.mark.parametrize("left", [None, {}, {"members": []}, {"members": [{"type": "user"}]}])
async def test_where_nobody_is_named_nobody_has_left(rig: Rig, left: JSON | None) -> None:
    """Nor does anybody leave a 1:1 in this way."""
    assert await rig.receive(event("memberLeft", GROUP, None, left=left)) == []
    assert await rig.receive(event("memberLeft", left={"members": [{"userId": USER}]})) == []


async def test_not_more_leave_than_a_group_may_have(rig: Rig) -> None:
    """An event of any length costs no more."""
    members = [{"type": "user", "userId": f"U{number:032x}"} for number in range(MOST_MEMBERS + 1)]
    [arrival] = await rig.receive(event("memberLeft", GROUP, None, left={"members": members}))
    assert len(arrival.target.split()) == MOST_MEMBERS


async def test_ids_come_from_the_message_or_the_event_or_its_content(rig: Rig) -> None:
    """An event without any id is known again by what stays the same, whatever its reply token."""
    nameless = event(message={"type": "text", "text": "hi"}, timestamp=7)
    [arrival] = await rig.receive(nameless)
    assert arrival.message.id == nameless["webhookEventId"]
    del nameless["webhookEventId"], nameless["deliveryContext"]
    [arrival] = await rig.receive(nameless | {"replyToken": "a"})
    assert arrival.message.id.startswith("event_")
    assert await rig.receive(nameless | {"replyToken": "b"}) == []
    again = {"deliveryContext": {"isRedelivery": True}}
    assert await rig.receive(nameless | again) == []
    assert len(await rig.receive(nameless | {"timestamp": 8})) == 1


async def test_an_event_without_time_has_ours(rig: Rig) -> None:
    """Better than 1970."""
    spoken = event(message=text_message("hi"))
    del spoken["timestamp"]
    [arrival] = await rig.receive(spoken)
    assert arrival.message.at == NOW


async def test_strangers_are_told_so_once_a_day() -> None:
    """Where only some may talk to the bot, others get one sentence a day, whatever they send."""
    async with open_rig(allowed_users=[USER]) as rig:
        strange = {"source": source(STRANGER, None)}
        await rig.receive(
            *[event(message=text_message("hi")) | strange for _ in range(3)],
            event("follow") | strange,
        )
        assert [(arrival.event, arrival.target) for arrival in rig.arrivals] == [
            ("canned", "line.not_allowed")
        ]
        rig.now += DAY_MS
        await rig.receive(event(message=text_message("hi")) | strange)
        assert len(rig.arrivals) == 2
        assert len(await rig.receive(event(message=text_message("hi")))) == 1


async def test_groups_that_are_not_on_the_list_hear_nothing() -> None:
    """Neither an answer nor a refusal."""
    async with open_rig(allowed_groups=[ROOM]) as rig:
        await rig.receive(event(place=GROUP, message=addressed_message("hi")), event("join", GROUP))
        assert rig.inbox == []
        await rig.receive(event(place=ROOM, message=addressed_message("hi")), event("join", ROOM))
        assert [arrival.event for arrival in rig.arrivals] == ["message", "canned"]


async def test_in_groups_too_only_those_on_the_list_are_answered() -> None:
    """Whoever may not talk to the bot alone may not in company; the bot still greets the group it
    joins."""
    async with open_rig(allowed_users=[USER]) as rig:
        await rig.receive(
            event(place=GROUP, user=STRANGER, message=addressed_message("hi")),
            event(place=GROUP, user=None, message=addressed_message("hi")),
            event(place=GROUP, user=USER, message=addressed_message("hi")),
            event("join", GROUP, None),
        )
        assert [arrival.event for arrival in rig.arrivals] == ["message", "canned"]


async def test_strangers_can_take_back_what_they_said() -> None:
    """They may have been on the list before."""
    async with open_rig(allowed_users=[USER]) as rig:
        gone = event("unsend", unsend={"messageId": "1"}) | {"source": source(STRANGER, None)}
        [arrival] = await rig.receive(gone)
        assert arrival.event == "unsent"
