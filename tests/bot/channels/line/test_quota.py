"""Pushes are counted before they are sent, and the operator is warned before they run out."""

from __future__ import annotations

import pytest
import structlog

from bot.channels.line.types import Quota
from bot.errors import DeliveryRefused
from tests.bot.channels.line.rig import IN_GROUP, IN_ROOM, Rig, open_rig
from tests.fakes.line import LineFake
from tests.fakes.line_events import GROUP, ROOM

READ, PUSHED = "line:quota", "line:quota:pushed"


async def push(rig: Rig, number: int, conversation: str) -> None:
    """A late answer, as its own delivery."""
    await rig.deliver("Hi!", conversation=conversation, delivery_id=f"turn_{number}")


async def test_the_quota_is_read_once_an_hour(fake: LineFake, rig: Rig) -> None:
    """Two requests for many pushes; in between they are counted here."""
    fake.limit = 200
    for number in range(5):
        await rig.deliver("Hi!", delivery_id=f"turn_{number}")
    assert [request.call for request in fake.requests] == ["quota", "consumption", *["push"] * 5]
    assert (rig.notes.lives[READ], rig.notes.stored[PUSHED]) == (3_600, b"5")
    del rig.notes.stored[READ]
    await rig.deliver("Hi!", delivery_id="turn_5")
    assert (len(fake.calls("quota")), rig.notes.stored[PUSHED]) == (2, b"1")


async def test_a_push_counts_for_everybody_who_reads_it(fake: LineFake, rig: Rig) -> None:
    """Six people in a group are six messages; how many there are is asked once an hour too."""
    fake.limit, fake.members = 100, {GROUP: 6, ROOM: 3}
    await push(rig, 1, IN_GROUP)
    await push(rig, 2, IN_GROUP)
    await push(rig, 3, IN_ROOM)
    assert rig.notes.stored[PUSHED] == b"15" == str(fake.used).encode()
    assert (len(fake.calls("group_members")), len(fake.calls("room_members"))) == (1, 1)


async def test_a_push_that_the_month_does_not_cover_is_not_sent(fake: LineFake, rig: Rig) -> None:
    """It is decided before sending, and the dead letter says why; one for fewer people still
    goes."""
    fake.limit, fake.used, fake.members = 10, 7, {GROUP: 6}
    with pytest.raises(DeliveryRefused, match="do not cover a push to 6"):
        await push(rig, 1, IN_GROUP)
    assert (fake.calls("push"), fake.sent) == ([], [])
    await rig.deliver("Hi!", delivery_id="turn_2")
    assert [sent.call for sent in fake.sent] == ["push"]


async def test_a_reply_token_needs_no_quota(fake: LineFake, rig: Rig) -> None:
    """With nothing left, whoever is answered in time is answered."""
    fake.limit = 0
    await rig.deliver("Hi!", rig.address(fake.token()))
    assert [request.call for request in fake.requests] == ["reply"]


@pytest.mark.parametrize("call", ["quota", "consumption"])
async def test_a_quota_that_cannot_be_read_is_no_obstacle(
    fake: LineFake, rig: Rig, call: str
) -> None:
    """LINE has the last word anyway; it is asked again at the next push."""
    fake.fail(call, 500)
    await rig.deliver("Hi!")
    assert (len(fake.sent), READ in rig.notes.stored) == (1, False)


async def test_a_group_that_cannot_be_counted_counts_as_one(fake: LineFake, rig: Rig) -> None:
    """Better an answer than a count."""
    fake.limit = 2
    fake.fail("group_members", 404)
    await push(rig, 1, IN_GROUP)
    assert rig.notes.stored[PUSHED] == b"1"


async def test_the_operator_is_warned_once_a_day_at_each_level(fake: LineFake, rig: Rig) -> None:
    """At 80 % and when a push is not covered."""
    fake.limit, fake.used = 10, 7
    with structlog.testing.capture_logs() as logs:
        for number in range(6):
            try:
                await rig.deliver("Hi!", delivery_id=f"turn_{number}")
            except DeliveryRefused:
                continue
    warnings = [(log["used"], log["limit"]) for log in logs if log["event"] == "line.quota_low"]
    assert warnings == [(8, 10), (10, 10)]
    assert rig.notes.lives["line:quota:warned:80"] == 86_400


async def test_a_month_that_runs_out_is_told(fake: LineFake) -> None:
    """At 80 %, and when it is used up, whether we have counted so or LINE says so."""
    reported: list[tuple[str, str, int]] = []

    async def tell(cause: str, *, platform: str = "") -> None:
        reported.append((cause, platform, len(fake.calls("push"))))

    fake.limit, fake.used = 10, 6
    async with open_rig(fake, notify=tell) as rig:
        for number in range(3):
            await rig.deliver("Hi!", delivery_id=f"turn_{number}")
        assert reported == [("line_month_low", "line", 2)]
        fake.used = 10
        with pytest.raises(DeliveryRefused, match="used up"):
            await rig.deliver("Hi!", delivery_id="turn_3")
        with pytest.raises(DeliveryRefused, match="do not cover"):
            await rig.deliver("Hi!", delivery_id="turn_4")
    assert reported[1:] == [("line_month_low", "line", 3), *[("line_month", "line", 4)] * 2]


@pytest.mark.parametrize(
    ("quota", "percent"), [(Quota(None, 5), 0), (Quota(0, 0), 100), (Quota(200, 161), 80)]
)
def test_what_is_used_is_told_in_percent(quota: Quota, percent: int) -> None:
    """A plan without messages is used up from the start."""
    assert quota.percent == percent
