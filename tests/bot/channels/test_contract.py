"""What every channel promises to the rest of Kaiwa, also while its platform is away.

The terminal is the console's: what holds for that one holds there.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from pydantic import SecretStr

from bot import texts
from bot.channels import Channel, Delivery, Host, InboundEvent, Reply
from bot.channels import line as line_package
from bot.channels import slack as slack_package
from bot.channels.console.channel import Console, Reads
from bot.errors import DeliverLater
from bot.features.approvals.questions import Question
from bot.live_events import AnswerText, ToolStarted, TurnStarted
from bot.transcript import Author, Media, Message, Text
from tests.bot.channels.fetching import fetched
from tests.bot.channels.post_box import ROOM, PostBox
from tests.bot.features.approvals.asking import card_asking
from tests.bot.harness import ours
from tests.fakes.kv import LocalKeyValue
from tests.fakes.live import LocalLive
from tests.fakes.stored_files import LocalUploads

AWAY = "http://127.0.0.1:9"
Opening = Callable[[], AbstractAsyncContextManager[Channel]]


async def take(conversation: str, arrival: InboundEvent) -> bool:
    return True


async def nothing(conversation: str) -> list[Message]:
    return []


@asynccontextmanager
async def console() -> AsyncIterator[Channel]:
    yield Console(take, LocalLive(), Reads(nothing), texts.load(), "en", LocalUploads())


@asynccontextmanager
async def line() -> AsyncIterator[Channel]:
    config = line_package.Config(
        line_channel_secret=SecretStr("secret"),
        line_channel_access_token=SecretStr("token"),
        line_api_base_url=AWAY,
        line_data_api_base_url=AWAY,
    )
    notes = LocalKeyValue()
    async with line_package.open(config, Host(take, notes, notes, texts.load())) as (channel,):
        yield channel


@asynccontextmanager
async def slack() -> AsyncIterator[Channel]:
    config = slack_package.Config(
        slack_signing_secret=SecretStr("secret"),
        slack_bot_token=SecretStr("xoxb-token"),
        slack_api_base_url=f"{AWAY}/api/",
    )
    notes = LocalKeyValue()
    async with slack_package.open(config, Host(take, notes, notes, texts.load())) as (channel,):
        yield channel


@asynccontextmanager
async def postbox() -> AsyncIterator[Channel]:
    yield PostBox()


IN_MEMORY = ("console", "postbox")  # a platform that is never away
CHANNELS = {
    "postbox": (postbox, ROOM, ""),
    "console": (console, "console:conversation", ""),
    "line": (
        line,
        f"line:U{'b' * 32}:user:U{'1' * 32}",
        '{"receivedAt": 1, "replyToken": "token"}',
    ),
    "slack": (slack, "slack:T1:C1:1.1", '{"channel": "C1", "thread_ts": "1.1"}'),
}


@pytest.fixture(params=CHANNELS)
def case(request: pytest.FixtureRequest) -> tuple[str, Opening, str, str]:
    return (request.param, *CHANNELS[request.param])


async def test_its_name_begins_its_conversations_and_its_style_does_not_change(
    case: tuple[str, Opening, str, str],
) -> None:
    """The name leads from a conversation to its channel; a changing style would cost the prompt
    cache."""
    name, opened, conversation, _ = case
    async with opened() as one, opened() as two:
        assert one.name == name == conversation.partition(":")[0]
        assert one.style == two.style
        assert len(one.style) > 20


async def test_its_routes_are_its_own(case: tuple[str, Opening, str, str]) -> None:
    """No channel answers under another one's path."""
    name, opened, _, _ = case
    async with opened() as channel:
        paths = [getattr(route, "path", "") for route in channel.routes()]
    assert paths
    assert all(re.match(rf"/(webhooks/)?{name}\b", path) for path in paths)


async def test_preparing_leaves_out_what_cannot_be_had(case: tuple[str, Opening, str, str]) -> None:
    """With the platform away the words are answered all the same."""
    _, opened, conversation, address = case
    asked = InboundEvent(
        Message("m1", "user", (Text("hello"),), 1, Author("U" + "1" * 32)), address
    )
    async with opened() as channel:
        prepared = await channel.enrich(conversation, [asked], is_new=True)
    assert [arrival.message.text for arrival in prepared] == ["hello"]
    assert prepared[0].message.id == "m1"


async def test_an_image_that_cannot_be_had_is_not_handed_over(
    case: tuple[str, Opening, str, str],
) -> None:
    """Never an error: the model gets a placeholder."""
    _, opened, conversation, _ = case
    async with opened() as channel:
        assert await fetched(channel, conversation, Media("1", "image/jpeg")) is None


async def crash_in_a_turn(channel: Channel, conversation: str, address: str) -> None:
    """Show the beginning of a turn, then fail."""
    async with channel.live_view(conversation, address) as watcher:
        await watcher.show(TurnStarted("t1", ("m1",)))
        await watcher.show(ToolStarted("c1", "get_weather", {}))
        await watcher.show(AnswerText("words"))
        raise ZeroDivisionError


async def test_showing_never_disturbs_the_turn(case: tuple[str, Opening, str, str]) -> None:
    """A platform that is away fails nobody, and the turn's own error passes through."""
    _, opened, conversation, address = case
    async with opened() as channel:
        with pytest.raises(ZeroDivisionError):
            await crash_in_a_turn(channel, conversation, address)


async def test_a_delivery_to_a_platform_that_is_away_waits(
    case: tuple[str, Opening, str, str],
) -> None:
    """Nothing is lost: it is tried again later. The console's truth is the history, so there it is
    delivered."""
    name, opened, conversation, address = case
    delivery = Delivery("turn_1_1", "turn_1", Reply("Hello"), address, attempts=1)
    async with opened() as channel:
        if name in IN_MEMORY:
            await channel.deliver(conversation, delivery, ours)
            return
        with pytest.raises(DeliverLater) as later:
            await channel.deliver(conversation, delivery, ours)
    assert 0 < later.value.after <= 3600


QUESTION = Question(
    "question_1", "c1", "launch", {"what": "rocket"}, "Hanako", "U1", 4_000_000_000_000
)
OF_APPROVALS = {
    "a question": Reply("May I do this? launch", card=card_asking(QUESTION)),
    "an outcome": Reply("Allowed: launch.", replaces="question_1"),
    "a refusal": Reply("Only the person who asked can decide this.", private=True),
}


@pytest.mark.parametrize("what", OF_APPROVALS)
async def test_what_belongs_to_an_approval_is_delivered_or_waits(
    case: tuple[str, Opening, str, str], what: str
) -> None:
    """With the platform away a question waits; other words of it may be left out, but no turn fails
    by them."""
    name, opened, conversation, address = case
    delivery = Delivery("question_1", "turn_1", OF_APPROVALS[what], address, attempts=1)
    async with opened() as channel:
        if name in IN_MEMORY or what != "a question":
            with suppress(DeliverLater):
                await channel.deliver(conversation, delivery, ours)
            return
        with pytest.raises(DeliverLater):
            await channel.deliver(conversation, delivery, ours)


async def test_portions_lose_no_words(case: tuple[str, Opening, str, str]) -> None:
    """However a long reply is cut, all of it is sent, with its failure."""
    _, opened, _, _ = case
    reply = Reply("\n\n".join(f"paragraph {number}" for number in range(3_000)), failure="why")
    async with opened() as channel:
        split = channel.split(reply)
    assert " ".join(" ".join(portion.text for portion in split).split()) == " ".join(
        reply.text.split()
    )
    assert {portion.failure for portion in split} == {"why"}
