"""Names and languages come from LINE, once a day, and only where they can be had."""

from __future__ import annotations

import pytest

from bot.channels import InboundEvent
from bot.transcript import Author, Message
from tests.bot.channels.line.desk import IN_GROUP, IN_PRIVATE, IN_ROOM, Desk, open_desk
from tests.fakes.line import LineFake
from tests.fakes.line_events import USER

TARO = "U" + "2" * 32


def said_by(user: str | None) -> InboundEvent:
    return InboundEvent(Message("1", "user", (), 1, Author(user) if user else None), group=True)


async def prepared(desk: Desk, conversation: str, *users: str | None) -> list[Author | None]:
    """The authors after the channel has looked them up."""
    arrivals = await desk.line.enrich(conversation, [said_by(user) for user in users], is_new=False)
    return [arrival.message.author for arrival in arrivals]


@pytest.mark.parametrize(
    ("conversation", "call", "language"),
    [(IN_PRIVATE, "profile", "ja"), (IN_GROUP, "group_profile", ""), (IN_ROOM, "room_profile", "")],
)
async def test_a_speaker_gets_a_name(fake: LineFake, desk: Desk, conversation: str, call: str, language: str) -> None:
    """And alone with the bot a language; both from one request a day."""
    for _ in range(2):
        assert await prepared(desk, conversation, USER) == [Author(USER, "Hanako", language)]
    assert [request.call for request in fake.requests] == [call]
    assert list(desk.notes.lives.values()) == [86_400]


async def test_a_turn_of_several_people_asks_for_each_once(fake: LineFake, desk: Desk) -> None:
    """Whoever LINE does not name stays without one."""
    fake.people[TARO] = {"displayName": "Taro"}
    authors = await prepared(desk, IN_GROUP, USER, TARO, None, USER)
    assert [author and author.name for author in authors] == ["Hanako", "Taro", None, "Hanako"]
    assert len(fake.requests) == 2


async def test_a_profile_that_cannot_be_seen_is_not_asked_for_at_once_again(fake: LineFake, desk: Desk) -> None:
    """Somebody who has not added the bot: an hour later perhaps."""
    fake.people.clear()
    for _ in range(2):
        assert await prepared(desk, IN_PRIVATE, USER) == [Author(USER)]
    assert (len(fake.requests), list(desk.notes.lives.values())) == (1, [3_600])


async def test_a_line_that_is_down_costs_names_and_nothing_else() -> None:
    """Nor does a store that is away."""
    async with open_desk() as desk:
        assert await prepared(desk, IN_GROUP, USER) == [Author(USER)]
        desk.notes.away = True
        assert await prepared(desk, IN_GROUP, USER) == [Author(USER)]
