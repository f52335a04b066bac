"""The channel between a stand-in for Slack, an inbox and a key-value store in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette

from bot import texts
from bot.channels import (
    Accept,
    Button,
    Delivery,
    Host,
    InboundEvent,
    KeyValue,
    Reply,
    notify_nobody,
)
from bot.channels.access import Access
from bot.channels.slack import Config
from bot.channels.slack.channel import Slack
from bot.channels.slack.config import Timing
from bot.channels.slack.types import Address, write_address
from bot.errors import StoreUnavailable
from bot.live_events import LiveEvent, TurnStarted, Watcher
from bot.transcript import Author, Message, Text
from tests.fakes.kv import LocalKeyValue
from tests.fakes.slack import BOT_TOKEN, SlackFake
from tests.fakes.slack_events import CHANNEL, SECRET, TEAM, USER, as_body, signed
from tests.waiting import until

TS = "1700000000.000100"
QUICK = Timing(
    settle_s=0.0,
    pace_s=0.01,
    start_s=0.0,
    card_s=60.0,
    status_after_s=0.0,
    stop_after_s=60.0,
    ping_s=0.2,
)
TOOL_COMMANDS = ("weather", "天気")
RATING = (
    Button("Good answer", "some_feedback.good", "1:turn:m", style="good"),
    Button("Bad answer", "some_feedback.bad", "1:turn:m", style="bad"),
)
THREAD = f"slack:{TEAM}:{CHANNEL}:{TS}"


class Inbox:
    """Takes what is accepted (``bot.channels.Accept``), each id once; or is away like a store."""

    def __init__(self) -> None:
        self.away = False
        self.crash: Exception | None = None
        self.accepted: list[tuple[str, InboundEvent]] = []
        self._seen: set[tuple[str, str]] = set()

    async def __call__(self, conversation: str, arrival: InboundEvent) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        if self.crash:
            raise self.crash
        key = (conversation, arrival.message.id)
        is_new = key not in self._seen
        if is_new:
            self._seen.add(key)
            self.accepted.append((conversation, arrival))
        return is_new

    @property
    def words(self) -> list[str]:
        return [arrival.message.text for _, arrival in self.accepted]


class Rig:
    """The channel, its webhook, and what came of it.

    Args:
        given: settings of ``Config``, and what ``Host`` holds, by name.
    """

    def __init__(
        self, fake: SlackFake, timing: Timing = QUICK, kv: LocalKeyValue | None = None, **given: Any
    ) -> None:
        self.fake = fake
        self.inbox = Inbox()
        self.kv = kv or LocalKeyValue()
        settings = {name: given.pop(name) for name in list(given) if name in Config.model_fields}
        host = slack_host(self.inbox, self.kv, **given)
        self.slack = Slack(slack_config(fake.api_base_url, **settings), host, timing=timing)
        transport = httpx.ASGITransport(Starlette(routes=list(self.slack.routes())))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test")

    async def post(self, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        """A webhook with these bytes, signed unless headers are given."""
        return await self.http.post(
            "/webhooks/slack", content=body, headers=signed(body) if headers is None else headers
        )

    async def send(self, payload: dict[str, Any]) -> int:
        """An event, a press or a command as Slack sends it; the status of the answer."""
        return (await self.post(as_body(payload))).status_code

    async def receive(self, payload: dict[str, Any]) -> list[tuple[str, InboundEvent]]:
        """What is accepted of one event."""
        before = len(self.inbox.accepted)
        assert await self.send(payload) == 200
        return self.inbox.accepted[before:]


def slack_config(api_base_url: str, **settings: Any) -> Config:
    """What an operator has set: the fake's secrets, and other settings by name."""
    usual: dict[str, Any] = {
        "slack_signing_secret": SecretStr(SECRET),
        "slack_bot_token": SecretStr(BOT_TOKEN),
        "slack_api_base_url": api_base_url,
    }
    return Config(**usual | settings)


def slack_host(accept: Accept, kv: KeyValue, **given: Any) -> Host:
    """Kaiwa around the channel, in a process that takes messages in."""
    return Host(
        accept, kv, kv, texts.load(), tool_commands=TOOL_COMMANDS, listens=nullcontext, **given
    )


@asynccontextmanager
async def open_rig(fake: SlackFake, *, introduced: bool = True, **given: Any) -> AsyncIterator[Rig]:
    """The channel, open, with the bot's ids known."""
    rig = Rig(fake, **given)
    async with rig.http, rig.slack, ask_access(rig.slack):
        await until(lambda: bool(rig.slack.identity.users) or not introduced)
        yield rig


def ask_access(slack: Slack) -> AbstractAsyncContextManager[None]:
    """Ask Slack without a pause until it takes the secrets, as a process does that is not Kaiwa's
    start."""
    access = Access(notify_nobody, ends=False, again_s=0.0, refused_s=0.0)
    return access.check({slack.name: slack})


@asynccontextmanager
async def begun_turn(
    rig: Rig, *events: LiveEvent, turn: str = "turn", **where: Any
) -> AsyncIterator[Watcher]:
    """A turn that has begun, and shown these events."""
    usual = {"language": "en", "user": USER, "team": TEAM, "channel": CHANNEL, "ts": TS}
    address = write_address(Address(**{"thread": TS} | usual | where))
    async with rig.slack.live_view(THREAD, address) as watcher:
        for event in (TurnStarted(turn, ("m1",)), *events):
            await watcher.show(event)
        yield watcher


def delivery(text: str = "Hello", number: int = 1, attempts: int = 1, **address: Any) -> Delivery:
    """An answer to the message ``TS`` of the channel."""
    where = Address(**{"channel": CHANNEL, "ts": TS, "thread": TS} | address)
    return Delivery(f"turn_{number}", "turn", Reply(text), write_address(where), attempts)


def arrival(text: str, ts: str = TS, user: str = USER, **address: Any) -> InboundEvent:
    """A message as it was accepted."""
    where = Address(**{"channel": CHANNEL, "ts": ts, "thread": TS} | address)
    message = Message(f"{TEAM}:{CHANNEL}:{ts}", "user", (Text(text),), 0, author=Author(user))
    return InboundEvent(message, write_address(where), group=True)


async def enriched(
    rig: Rig, text: str, ts: str = TS, *, is_new: bool = True, **address: Any
) -> InboundEvent:
    """A message in a thread, with what the channel looks up."""
    [event] = await rig.slack.enrich(THREAD, [arrival(text, ts, **address)], is_new=is_new)
    return event
