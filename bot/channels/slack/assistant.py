"""The pane for agents: suggested prompts when somebody opens it, a title once a thread has a
subject."""

from __future__ import annotations

from contextlib import suppress

from bot.channels import Host
from bot.channels.slack.client import Client
from bot.channels.slack.formatting import one_line
from bot.channels.slack.lookups import DAY_S, People
from bot.channels.slack.types import Address, Envelope
from bot.errors import DeliverLater, StoreUnavailable

TITLE_CAP = 60
PROMPTS = ("1", "2", "3")


class Assistant:
    """Posts prompts and titles. Both are decoration: failures are ignored."""

    def __init__(self, client: Client, people: People, host: Host) -> None:
        self._client = client
        self._people = people
        self._kv = host.kv
        self._texts = host.texts

    async def welcome(self, envelope: Envelope) -> None:
        """Suggest prompts in the app's messages tab once a day when somebody opens it, as people do
        so often."""
        event = envelope.event
        if event.tab != "messages" or not event.channel:
            return
        with suppress(DeliverLater, StoreUnavailable):
            if await self._kv.incr(f"slack:welcomed:{event.channel}:{event.user}", DAY_S) == 1:
                language = await self._people.find_language(event.user or "")
                await self._post_prompts(event.channel, language)

    async def set_title(self, address: Address, text: str) -> None:
        """Give a thread of a 1:1 its first words as a title."""
        if not address.channel.startswith("D") or not address.thread or not text:
            return
        with suppress(DeliverLater, StoreUnavailable):
            if await self._kv.incr(f"slack:titled:{address.channel}:{address.thread}", DAY_S) == 1:
                await self._post_title(address.channel, address.thread, one_line(text, TITLE_CAP))

    async def _post_prompts(self, channel: str, language: str) -> None:
        """Post the prompts without a thread: Slack drops those that name one there."""
        prompts: list[dict[str, str]] = []
        for number in PROMPTS:
            title = self._texts.get(f"slack.prompt_{number}_title", language)
            message = self._texts.get(f"slack.prompt_{number}_message", language)
            prompts.append({"title": title, "message": message})
        title = self._texts.get("slack.prompts", language)
        await self._client.post(
            "assistant.threads.setSuggestedPrompts",
            channel_id=channel,
            title=title,
            prompts=prompts,
        )

    async def _post_title(self, channel: str, thread: str, title: str) -> None:
        await self._client.post(
            "assistant.threads.setTitle", channel_id=channel, thread_ts=thread, title=title
        )
