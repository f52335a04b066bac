"""A LINE channel between a stand-in for LINE and an inbox in plain sight."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette

from bot import texts
from bot.channels import NO_FILES, Delivery, Files, Host, InboundEvent, Notify, Reply, notify_nobody
from bot.channels.line import Config
from bot.channels.line.channel import Line
from bot.channels.line.types import Address, write_address
from bot.errors import StoreUnavailable
from tests.bot.harness import ours
from tests.fakes import line_events
from tests.fakes.kv import LocalKeyValue
from tests.fakes.line import LineFake
from tests.fakes.line_events import BOT, GROUP, JSON, ROOM, SECRET, TOKEN, USER

NOW = 1_763_700_000_000
IN_PRIVATE = f"line:{BOT}:user:{USER}"
IN_GROUP = f"line:{BOT}:group:{GROUP}"
IN_ROOM = f"line:{BOT}:room:{ROOM}"
UNREACHABLE = "http://127.0.0.1:9"  # nothing is sent there


def line_config(base_url: str, **settings: Any) -> Config:
    """What an operator has set: the fake's secrets, and other settings by name."""
    usual: dict[str, Any] = {
        "line_channel_secret": SecretStr(SECRET),
        "line_channel_access_token": SecretStr(TOKEN),
        "line_api_base_url": base_url,
        "line_data_api_base_url": base_url,
    }
    return Config(**usual | settings)


class Rig:
    """The channel and what is around it.

    Attributes:
        away: the inbox takes nothing.
        inbox: what was accepted, without duplicates, and in which conversation.
        overheard: unmentioned messages, which nobody answers.
        http: a client of the webhook.
        now: our clock, milliseconds since the epoch.
    """

    def __init__(
        self,
        fake: LineFake | None = None,
        notes: LocalKeyValue | None = None,
        *,
        notify: Notify = notify_nobody,
        timeout_s: float = 10.0,
        files: Files = NO_FILES,
        **settings: Any,
    ) -> None:
        self.away = False
        self.now = NOW
        self.inbox: list[tuple[str, InboundEvent]] = []
        self.overheard: list[InboundEvent] = []
        self.notes = notes or LocalKeyValue()
        self._seen: set[tuple[str, str]] = set()
        base_url = fake.base_url if fake else UNREACHABLE
        host = Host(
            self._accept,
            self.notes,
            self.notes,
            texts.load(),
            notify=notify,
            files=files,
            clock=lambda: self.now,
        )
        self.line = Line(line_config(base_url, **settings), host, timeout_s)
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(Starlette(routes=self.line.routes())),
            base_url="http://kaiwa",
        )

    @property
    def arrivals(self) -> list[InboundEvent]:
        """What was accepted."""
        return [arrival for _, arrival in self.inbox]

    async def post(self, body: bytes, headers: dict[str, str]) -> int:
        """Post a body to the webhook; the status of the answer."""
        return (await self.http.post("/webhooks/line", content=body, headers=headers)).status_code

    async def receive(self, *events: JSON) -> list[InboundEvent]:
        """Post events as LINE does; what arrived by them."""
        before = len(self.inbox)
        assert await self.post(*line_events.webhook(*events)) == 200
        return self.arrivals[before:]

    async def deliver(
        self,
        text: str,
        address: Address | None = None,
        *,
        conversation: str = IN_PRIVATE,
        attempt: int = 1,
        delivery_id: str = "turn_1_1",
    ) -> None:
        """Send a reply."""
        written = write_address(address) if address else ""
        await self.line.deliver(
            conversation, Delivery(delivery_id, "turn_1", Reply(text), written, attempt), ours
        )

    async def say(
        self, reply: Reply, address: Address | None = None, *, conversation: str = IN_PRIVATE
    ) -> None:
        """Send a reply of any kind, for the first time."""
        written = write_address(address) if address else ""
        await self.line.deliver(
            conversation, Delivery("turn_1_1", "turn_1", reply, written, 1), ours
        )

    def address(self, token: str, age_s: float = 1, **fields: Any) -> Address:
        """The address of a message that came so long ago."""
        return Address(received_at=self.now - round(age_s * 1000), reply_token=token, **fields)

    async def aclose(self) -> None:
        await self.http.aclose()
        await self.line.__aexit__()

    async def _accept(self, conversation: str, arrival: InboundEvent) -> bool:
        if self.away:
            raise StoreUnavailable("away")
        if arrival.unmentioned:
            self.overheard.append(arrival)
            return False
        if (conversation, arrival.message.id) in self._seen:
            return False
        self._seen.add((conversation, arrival.message.id))
        self.inbox.append((conversation, arrival))
        return True


@asynccontextmanager
async def open_rig(fake: LineFake | None = None, **settings: Any) -> AsyncIterator[Rig]:
    """A rig while the context is open."""
    rig = Rig(fake, **settings)
    try:
        yield rig
    finally:
        await rig.aclose()


@pytest.fixture(name="rig")
async def lone_rig() -> AsyncIterator[Rig]:
    """The channel alone: nobody answers at LINE's address."""
    async with open_rig() as rig:
        yield rig
