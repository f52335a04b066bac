"""Which ``D…`` channel is a person's 1:1 with the bot: others are between two people, and a slash
command names any."""

from __future__ import annotations

import asyncio

from bot.channels import Host
from bot.channels.slack.client import Client
from bot.channels.slack.types import Command
from bot.errors import DeliverLater

DAY_S = 86_400
LOOKUP_S = 0.8  # for each lookup before Slack gets its answer, which it awaits for three seconds


class DirectChannels:
    """Stores the 1:1 channels that Slack's events name.

    Slack sends events of a ``D…`` channel only if the bot is in it. So what was stored is a 1:1
    with the bot, and of another channel that is taken for granted only after its next event.
    """

    def __init__(self, client: Client, host: Host) -> None:
        self._client = client
        self._kv = host.kv
        self._priority_kv = host.priority_kv
        self._lifetime_s = (
            host.days + 1
        ) * DAY_S  # longer than the history of what was written there

    def note(self, user: str, channel: str) -> None:
        """Store a person's 1:1 with the process's next request."""
        self._kv.set_later(_key(user), channel.encode(), self._lifetime_s)

    async def is_sent_in(self, command: Command) -> bool:
        """Whether somebody gives a command in their 1:1 with the bot; false as long as no event has
        named that.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        if not command.channel_id.startswith("D"):
            return False
        known = await self._priority_kv.get(_key(command.user_id))
        return known == command.channel_id.encode()

    async def find(self, user: str) -> str:
        """The person's 1:1; the person's own id, to which Slack delivers too, where it cannot be
        found out in time.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        if known := await self._priority_kv.get(_key(user)):
            return known.decode()
        try:
            async with asyncio.timeout(LOOKUP_S):
                response = await self._client.post("conversations.open", users=user)
        except (DeliverLater, TimeoutError):
            return user
        channel = response.data.get("channel")
        direct = str(channel.get("id") or "") if isinstance(channel, dict) else ""
        if direct:
            self.note(user, direct)
        return direct or user


def _key(user: str) -> str:
    return f"direct:slack:{user}"
