"""The assistant's pane: suggested prompts in an empty conversation, a title once it has a subject."""

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
        """Suggest prompts in a thread of the pane, or in the app's messages tab, when somebody opens it."""
        event = envelope.event
        thread = event.assistant_thread
        with suppress(DeliverLater, StoreUnavailable):
            if event.type == "assistant_thread_started" and thread and thread.channel_id:
                language = await self._people.find_language(envelope.team, thread.user_id or "")
                await self._post_prompts(thread.channel_id, thread.thread_ts, language)
                await self._post_title(thread.channel_id, thread.thread_ts, self._texts.get("slack.new", language))
            elif event.type == "app_home_opened" and event.tab == "messages" and event.channel:
                await self._welcome_home(envelope.team, event.channel, event.user or "")

    async def _welcome_home(self, team: str, channel: str, user: str) -> None:
        """Once a day, because people open the tab often. Slack drops these prompts if they name a thread."""
        if await self._kv.incr(f"slack:welcomed:{channel}:{user}", DAY_S) == 1:
            await self._post_prompts(channel, None, await self._people.find_language(team, user))

    async def set_title(self, address: Address, text: str) -> None:
        """Give a thread of a 1:1 its first words as a title."""
        if not address.channel.startswith("D") or not address.thread or not text:
            return
        with suppress(DeliverLater, StoreUnavailable):
            if await self._kv.incr(f"slack:titled:{address.channel}:{address.thread}", DAY_S) == 1:
                await self._post_title(address.channel, address.thread, one_line(text, TITLE_CAP))

    async def _post_prompts(self, channel: str, thread: str | None, language: str) -> None:
        prompts = [
            {key: self._texts.get(f"slack.prompt_{number}_{key}", language) for key in ("title", "message")}
            for number in PROMPTS
        ]
        title = self._texts.get("slack.prompts", language)
        await self._client.post(
            "assistant.threads.setSuggestedPrompts", channel_id=channel, thread_ts=thread, title=title, prompts=prompts
        )

    async def _post_title(self, channel: str, thread: str | None, title: str) -> None:
        await self._client.post("assistant.threads.setTitle", channel_id=channel, thread_ts=thread, title=title)
