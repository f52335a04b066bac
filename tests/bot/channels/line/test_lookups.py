"""Names, languages and images come from LINE, and only where they can be had."""

from __future__ import annotations

import pytest

from bot.channels import InboundEvent
from bot.transcript import Author, Media, Message
from tests.bot.channels.fetching import fetched
from tests.bot.channels.line.rig import IN_GROUP, IN_PRIVATE, IN_ROOM, Rig, open_rig
from tests.fakes.line import LineFake
from tests.fakes.line_events import USER

MIB = 1024 * 1024
TARO = "U" + "2" * 32


def written_by(user: str | None) -> InboundEvent:
    return InboundEvent(Message("1", "user", (), 1, Author(user) if user else None), group=True)


async def prepared(rig: Rig, conversation: str, *users: str | None) -> list[Author | None]:
    """The authors after the channel has looked them up."""
    arrivals = await rig.line.enrich(
        conversation, [written_by(user) for user in users], is_new=False
    )
    return [arrival.message.author for arrival in arrivals]


@pytest.mark.parametrize(
    ("conversation", "call", "language"),
    [(IN_PRIVATE, "profile", "ja"), (IN_GROUP, "group_profile", ""), (IN_ROOM, "room_profile", "")],
)
async def test_a_speaker_gets_a_name(
    fake: LineFake, rig: Rig, conversation: str, call: str, language: str
) -> None:
    """And alone with the bot a language; both from one request a day."""
    for _ in range(2):
        assert await prepared(rig, conversation, USER) == [Author(USER, "Hanako", language)]
    assert [request.call for request in fake.requests] == [call]
    assert list(rig.notes.lives.values()) == [86_400]


async def test_a_turn_of_several_people_asks_for_each_once(fake: LineFake, rig: Rig) -> None:
    """Whoever LINE does not name stays without one."""
    fake.people[TARO] = {"displayName": "Taro"}
    authors = await prepared(rig, IN_GROUP, USER, TARO, None, USER)
    assert [author and author.name for author in authors] == ["Hanako", "Taro", None, "Hanako"]
    assert len(fake.requests) == 2


@pytest.mark.parametrize("conversation", [IN_PRIVATE, IN_GROUP])
async def test_a_name_with_half_a_character_can_be_kept(
    fake: LineFake, rig: Rig, conversation: str
) -> None:
    """A name that was cut in the middle of an emoji."""
    fake.people[USER] = {"displayName": "Hana\ud83d"}
    for _ in range(2):
        [author] = await prepared(rig, conversation, USER)
        assert author
        assert author.name == "Hana\ufffd"


async def test_a_profile_that_cannot_be_seen_is_not_asked_for_at_once_again(
    fake: LineFake, rig: Rig
) -> None:
    """Somebody who has not added the bot: an hour later perhaps."""
    fake.people.clear()
    for _ in range(2):
        assert await prepared(rig, IN_PRIVATE, USER) == [Author(USER)]
    assert (len(fake.requests), list(rig.notes.lives.values())) == (1, [3_600])


async def test_a_line_that_is_down_costs_names_and_nothing_else() -> None:
    """Nor does a store that is away."""
    async with open_rig() as rig:
        assert await prepared(rig, IN_GROUP, USER) == [Author(USER)]
        rig.notes.away = True
        assert await prepared(rig, IN_GROUP, USER) == [Author(USER)]


JPEG = b"\xff\xd8\xff\xe0" + b"x" * 1_000
IMAGE = Media("325708", "image/jpeg")


async def test_an_image_is_fetched(fake: LineFake, rig: Rig) -> None:
    """From the data host, with the access token."""
    fake.image("325708", JPEG)
    assert await fetched(rig.line, IN_PRIVATE, IMAGE) == JPEG


@pytest.mark.long
async def test_a_recording_is_waited_for_before_it_is_fetched(fake: LineFake, rig: Rig) -> None:
    """No memory need be kept for it meanwhile; pictures and files are not converted, and a failure
    is the fetch's."""
    fake.image("325708", b"sound", "audio/x-m4a", pending=1)
    fake.image("2", b"film", "video/mp4", broken=True)
    for media in (
        Media("325708", "audio/mp4"),
        Media("2", "video/mp4"),
        IMAGE,
        Media("4", "audio/mp4", name="a.m4a"),
    ):
        await rig.line.prepare(media)
    assert [request.call for request in fake.requests] == ["transcoding"] * 3
    assert await fetched(rig.line, IN_PRIVATE, Media("325708", "audio/mp4")) == b"sound"
    assert len(fake.calls("content")) == 1


@pytest.mark.long
async def test_a_recording_that_line_cannot_convert_is_none(fake: LineFake, rig: Rig) -> None:
    """Nobody waits for it."""
    fake.image("325708", b"film", "video/mp4", broken=True)
    assert await fetched(rig.line, IN_PRIVATE, Media("325708", "video/mp4")) is None
    assert len(fake.calls("content")) == 1


@pytest.mark.parametrize("content_type", ["video/mp4", "text/html", "application/octet-stream"])
async def test_what_is_no_image_is_left(fake: LineFake, rig: Rig, content_type: str) -> None:
    """A model is shown images only."""
    fake.image("325708", JPEG, content_type)
    assert await fetched(rig.line, IN_PRIVATE, IMAGE) is None


async def test_a_line_that_is_silent_or_away_has_no_images(fake: LineFake) -> None:
    """The turn goes on without."""
    fake.trouble("content", "stalled")
    async with open_rig(fake, timeout_s=0.2) as rig:
        assert await fetched(rig.line, IN_PRIVATE, IMAGE) is None
    async with open_rig() as rig:
        assert await fetched(rig.line, IN_PRIVATE, IMAGE) is None


async def test_what_nobody_wants_any_more_is_not_read_on(fake: LineFake, rig: Rig) -> None:
    """A request that is full already has no use for the rest."""
    fake.image("325708", JPEG.ljust(MIB, b"x"))
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return False

    assert not await rig.line.fetch(IN_PRIVATE, IMAGE, take)
    assert len(pieces) == 1
    assert len(pieces[0]) < MIB
