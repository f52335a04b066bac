"""Reply token or push, once each: the whole of what decides, against the stand-in for LINE."""

from __future__ import annotations

import uuid

import pytest

from bot.channels.line.types import write_address
from bot.errors import DeliverLater, DeliveryRefused, StoreUnavailable, TokenRefused
from tests.bot.channels.line.rig import IN_GROUP, Rig, open_rig
from tests.fakes.line import LineFake, Trouble
from tests.fakes.line_events import GROUP, USER


def ways(fake: LineFake) -> list[str]:
    """How people got what they see."""
    return [sent.call for sent in fake.sent]


async def test_a_reply_goes_by_its_token(fake: LineFake, rig: Rig) -> None:
    """It costs nothing, and carries no retry key."""
    await rig.deliver("Hi!", rig.address(fake.token()))
    [sent] = fake.sent
    assert (sent.call, sent.to, sent.messages) == ("reply", USER, [{"type": "text", "text": "Hi!"}])
    [request] = fake.requests
    assert "notificationDisabled" not in request.body
    assert "X-Line-Retry-Key" not in request.headers


async def test_among_several_the_answer_quotes_the_question(fake: LineFake, rig: Rig) -> None:
    """In its first bubble; alone with the bot nobody needs that."""
    text = "a" * 6_000
    await rig.deliver(text, rig.address(fake.token(GROUP), quote_token="q"), conversation=IN_GROUP)
    assert [message.get("quoteToken") for message in fake.sent[0].messages] == ["q", None]
    await rig.deliver("Hi!", rig.address(fake.token(), quote_token="q"), delivery_id="2")
    assert [message.get("quoteToken") for message in fake.sent[1].messages] == [None]


async def test_the_first_45_seconds_of_a_token_are_the_answers(rig: Rig) -> None:
    """Then it is left for a last message, until its minute is over."""
    addresses = [write_address(rig.address("token", age_s)) for age_s in (0, 44, 45, 59, 60)]
    found = [rig.line.validity(address) for address in addresses]
    assert [one.left_s for one in found] == [45, 1, 0, -14, None]
    assert ["token" in one.now for one in found] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("age_s", [50, 3_600])
async def test_a_token_that_is_too_old_is_not_tried(fake: LineFake, rig: Rig, age_s: float) -> None:
    """The answer is pushed, under a retry key made of the delivery's id."""
    await rig.deliver("Hi!", rig.address(fake.token(), age_s))
    assert [request.call for request in fake.requests] == ["quota", "consumption", "push"]
    key = fake.requests[-1].headers["X-Line-Retry-Key"]
    assert uuid.UUID(key).version == 5
    await rig.deliver("Hi!", rig.address(fake.token(), age_s), delivery_id="another")
    assert fake.requests[-1].headers["X-Line-Retry-Key"] != key


@pytest.mark.parametrize("trouble", ["cut", "garbled", "stalled"])
async def test_a_reply_with_unknown_outcome_is_tried_again_and_said_once(
    fake: LineFake, trouble: Trouble
) -> None:
    """LINE took it, but its answer was lost; the token, used now, tells so at the second
    attempt."""
    async with open_rig(fake, timeout_s=0.3) as rig:
        address = rig.address(fake.token())
        fake.trouble("reply", trouble)
        with pytest.raises(DeliverLater) as later:
            await rig.deliver("Hi!", address)
        assert later.value.after == 1
        await rig.deliver("Hi!", address, attempt=2)
    assert (ways(fake), len(fake.calls("reply"))) == (["reply"], 2)


async def test_a_reply_that_did_not_get_through_is_sent_by_the_same_token(
    fake: LineFake, rig: Rig
) -> None:
    """A 500 may mean anything; the second attempt finds the token unused."""
    address = rig.address(fake.token())
    fake.fail("reply", 500)
    with pytest.raises(DeliverLater, match="500"):
        await rig.deliver("Hi!", address)
    await rig.deliver("Hi!", address, attempt=2)
    assert ways(fake) == ["reply"]


@pytest.mark.parametrize(("status", "later"), [(429, DeliverLater), (401, TokenRefused)])
async def test_an_attempt_known_to_have_failed_is_not_taken_for_delivered(
    fake: LineFake, rig: Rig, status: int, later: type[DeliverLater]
) -> None:
    """LINE refused it, or the access token; should the reply token die meanwhile, the answer is
    pushed."""
    address = rig.address(fake.token())
    fake.fail("reply", status)
    with pytest.raises(later):
        await rig.deliver("Hi!", address)
    fake.advance(61)
    await rig.deliver("Hi!", address, attempt=2)
    assert ways(fake) == ["push"]


async def test_what_is_known_of_one_attempt_says_nothing_of_the_next(
    fake: LineFake, rig: Rig
) -> None:
    """The first was refused, the second got through and was lost sight of: the third must not
    push."""
    address = rig.address(fake.token())
    fake.fail("reply", 429)
    with pytest.raises(DeliverLater):
        await rig.deliver("Hi!", address)
    fake.trouble("reply", "cut")
    with pytest.raises(DeliverLater):
        await rig.deliver("Hi!", address, attempt=2)
    await rig.deliver("Hi!", address, attempt=3)
    assert ways(fake) == ["reply"]


async def test_an_unknown_outcome_whose_token_grew_old_is_pushed(fake: LineFake, rig: Rig) -> None:
    """LINE was away for a minute: rather twice than never."""
    fake.fail("reply", 503)
    with pytest.raises(DeliverLater):
        await rig.deliver("Hi!", rig.address(fake.token()))
    await rig.deliver("Hi!", rig.address(fake.token(), 61), attempt=2)
    assert ways(fake) == ["push"]


@pytest.mark.parametrize("trouble", ["cut", "garbled"])
async def test_a_push_with_unknown_outcome_is_repeated_under_its_key(
    fake: LineFake, rig: Rig, trouble: Trouble
) -> None:
    """LINE answers 409, which means delivered; the month's last message is not asked for twice."""
    fake.limit = 1
    address = rig.address("unknown")
    fake.trouble("push", trouble)
    with pytest.raises(DeliverLater):
        await rig.deliver("Hi!", address)
    await rig.deliver("Hi!", address, attempt=2)
    assert ways(fake) == ["push"]
    keys = {request.headers["X-Line-Retry-Key"] for request in fake.calls("push")}
    assert (len(keys), len(fake.calls("push")), len(fake.calls("reply"))) == (1, 2, 1)


async def test_too_many_requests_wait_as_long_as_line_asks(fake: LineFake, rig: Rig) -> None:
    """And no shorter than our own growing wait; a number from some proxy waits no longer than an
    outage does."""
    waits: list[float] = []
    for attempt, asked in ((1, "7"), (5, "7"), (1, "9" * 400)):
        fake.fail("push", 429, "The API rate limit has been exceeded.", retry_after=asked)
        with pytest.raises(DeliverLater) as later:
            await rig.deliver("Hi!", attempt=attempt)
        waits.append(later.value.after)
    assert waits == [7, 2.5**4, 600]


async def test_a_refused_access_token_waits_for_a_new_one(fake: LineFake, rig: Rig) -> None:
    """At whatever attempt, by reply and by push; the reason names the variable and holds no
    secret."""
    secret = fake.access_token
    fake.access_token = "new"
    for attempt, token in ((1, fake.token()), (9, fake.token()), (2, "")):
        with pytest.raises(TokenRefused, match="LINE_CHANNEL_ACCESS_TOKEN") as later:
            await rig.deliver("Hi!", rig.address(token), attempt=attempt)
        assert later.value.after == 60
        assert secret not in str(later.value)


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "The request body has 1 error"), (403, "Not available")]
)
async def test_what_line_will_never_take_is_given_up(
    fake: LineFake, rig: Rig, status: int, reason: str
) -> None:
    """The dead letter holds LINE's own words."""
    fake.fail("reply", status, reason)
    with pytest.raises(DeliveryRefused, match=f"{status}: {reason}"):
        await rig.deliver("Hi!", rig.address(fake.token()))
    assert fake.sent == []


@pytest.mark.parametrize("words", [b"<html>", b'{"message": "\x93\xfa"}'])
async def test_an_error_in_words_that_are_not_lines_is_told_by_its_status(
    fake: LineFake, rig: Rig, words: bytes
) -> None:
    """A proxy's page, say, or letters in another encoding."""
    fake.fail("reply", 403, raw=words)
    with pytest.raises(DeliveryRefused, match="403: Forbidden"):
        await rig.deliver("Hi!", rig.address(fake.token()))


async def test_a_line_that_cannot_be_reached_is_tried_again() -> None:
    """Nothing was sent then, and that much is known."""
    async with open_rig() as rig:
        with pytest.raises(DeliverLater, match="cannot be reached"):
            await rig.deliver("Hi!", rig.address("token"))
        assert rig.notes.stored["line:sent:turn_1_1"] == b"1"


async def test_without_the_store_nothing_is_guessed(fake: LineFake, rig: Rig) -> None:
    """A second attempt must know of the first."""
    rig.notes.away = True
    with pytest.raises(StoreUnavailable):
        await rig.deliver("Hi!", rig.address(fake.token()), attempt=2)
    assert fake.requests == []


async def test_an_answer_without_words_is_given_up(fake: LineFake, rig: Rig) -> None:
    """LINE takes no empty message; marks alone are shown as they are."""
    with pytest.raises(DeliveryRefused):
        await rig.deliver(" \n ", rig.address(fake.token()))
    await rig.deliver("---", rig.address(fake.token()))
    assert fake.texts == [["---"]]


async def test_an_unknown_outcome_is_looked_into_while_the_token_can_tell(
    fake: LineFake, rig: Rig
) -> None:
    """However long the wait would be otherwise, the next attempt falls into the token's minute."""
    address = rig.address(fake.token(), 46)
    fake.fail("reply", 500)
    with pytest.raises(DeliverLater) as later:
        await rig.deliver("Hi!", address, attempt=4)
    assert later.value.after == 12.0
