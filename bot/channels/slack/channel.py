"""Slack behind the channels' Protocol: the parts of this package, put together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import structlog
from msgspec.structs import replace
from starlette.routing import BaseRoute

from bot.channels import (
    SAY,
    Abilities,
    AssertLease,
    Channel,
    Delivery,
    Host,
    InboundEvent,
    Media,
    Place,
    Reply,
    Take,
    Validity,
    Watcher,
)
from bot.channels.slack.app import App
from bot.channels.slack.client import BackgroundTasks, Client
from bot.channels.slack.config import FIX_OF_APP, Config, Timing
from bot.channels.slack.delivery import Sender, show_said, split
from bot.channels.slack.events import Reader, ReceivedEvent
from bot.channels.slack.files import fetch
from bot.channels.slack.inbound import Payload
from bot.channels.slack.lookups import Enricher, Identity, People
from bot.channels.slack.presence import Presence
from bot.channels.slack.shortcuts import Shortcuts
from bot.channels.slack.types import (
    MOST_ROWS,
    Address,
    Command,
    Envelope,
    Press,
    Shortcut,
    Submission,
    ViewPress,
    chat_of,
    is_conversation,
    read,
    read_address,
    write_address,
)
from bot.channels.slack.views import Forms, Home, asks_for_form
from toolset.web.json_values import as_object

log = structlog.stdlib.get_logger(__name__)

STYLE = """\
You write in Slack, which renders Markdown: short paragraphs, lists and code blocks where they \
help, no headings for a short answer. Be concise: the answer first, then only what helps."""
DEFAULT_TIMING = Timing()
CHANGE_PAUSE_S = 2.0  # Slack takes about 50 changes of messages a minute


class Slack(Channel):
    """The channel of Slack (``bot.channels.Channel``). Enter it before use; its background tasks
    end with the context.

    Args:
        app: that several workspaces share, of which this is ``team``; without one the channel has
            an app of its own.

    Attributes:
        identity: the bot's own ids, once Slack has sent them.
        tasks: background tasks.
    """

    style = STYLE

    def __init__(
        self,
        config: Config,
        host: Host,
        *,
        timing: Timing = DEFAULT_TIMING,
        app: App | None = None,
        team: str = "",
    ) -> None:
        self.name = host.channel("slack")
        self.approvers = config.approvers if host.account else None
        self._is_alone = app is None
        self._team = team
        self._app = app or App(config, host, timing)
        self._app.join(team, self)
        self._config = config
        self._host = host
        self.abilities = Abilities(
            deletes=True,
            streams=True,
            feedback_buttons=config.slack_feedback,
            most_rows=MOST_ROWS,
            change_pause_s=CHANGE_PAUSE_S,
        )
        self.tasks = tasks = BackgroundTasks()
        token = config.slack_bot_token.get_secret_value()
        self._client = client = Client(token, config.slack_api_base_url)
        self.identity = Identity(client)
        self._reader = Reader(config, host)
        self._people = people = People(client, host)
        self._enricher = Enricher(client, people, self.identity, host, timing.lookup_timeout_s)
        self._presence = Presence(client, host, tasks, timing)
        streaming = self._presence.streaming
        self._sender = Sender(client, config, host, streaming, self.identity, timing.settle_s)
        self._forms = Forms(client, config, host, self._reader)
        self._home = Home(client, people, config, host, tasks)
        self._shortcuts = Shortcuts(client, people, config, host, tasks)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Slack:
        await self._open.enter_async_context(self._client)
        self._open.push_async_callback(self.tasks.close)
        if self._is_alone:
            await self._open.enter_async_context(self._app)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def check_access(self) -> None:
        """Ask for the bot's ids; the process with which Kaiwa starts also asks for a connection of
        Socket Mode."""
        await self.identity.learn(self._team)
        if self._app.has_socket and self._host.listens and self._host.is_start:
            token = self._config.slack_app_token.get_secret_value()
            async with Client(token, self._config.slack_api_base_url) as client:
                await client.check_token("apps.connections.open", "SLACK_APP_TOKEN", FIX_OF_APP)
        self._app.is_checked.set()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook of its app."""
        return self._app.routes_of(self)

    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """A status line, a stop button, and the answer while it is written."""
        return self._presence.live_view(conversation, read_address(address))

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        """Post one reply, or finish the stream that shows it; or delete what a turn has shown."""
        if delivery.address:
            address = read_address(delivery.address)
        else:
            address = Address(chat_of(conversation).channel)
        shown_at = await self._sender.send(conversation, address, delivery, assert_lease)
        buttons = self._presence.buttons
        if delivery.deletes is not None:  # nobody goes on with a turn that a dead process has shown
            buttons.remove_stop_button(address.channel, address.thread or address.ts)
        if not delivery.reply.buttons:  # such as the answer to /stop, for which no turn is shown
            buttons.remove_left_button(conversation, address.channel)
        self._app.traffic.record("delivery", self._host.clock())
        return shown_at

    def place(self, conversation: str) -> Place:
        """The channel, for all its threads."""
        return Place(chat_of(conversation)._replace(thread="").conversation)

    def validity(self, address: str) -> Validity:
        """URLs expire, and some things are read for the answer to that message alone. The answer to
        a slash command of a channel goes to whoever gave it."""
        where = read_address(address)
        later = replace(
            where,
            response_url="",
            private_url="",
            partial=False,
            quoted_channel="",
            quoted_thread="",
        )
        is_shared = not where.response_url or where.channel.startswith("D")
        return Validity(address, write_address(later), shows_cards=is_shared)

    def prefetch(self, conversation: str, author: str) -> None:
        """Read the author's profile, and whether the bot takes part in the conversation."""
        self._enricher.prefetch(conversation, author)

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        """Names, time zones, files that a mention left out, and the earlier messages of a
        thread."""
        newest, chat = arrivals[-1], chat_of(conversation)
        if chat.channel.startswith("D") and newest.author_id:
            self._people.note_direct(newest.author_id, chat.channel)
            address = read_address(newest.address)
            if address.thread and newest.message.text:
                self.tasks.start(self._presence.set_title(address, newest.message.text))
        return await self._enricher.enrich(conversation, arrivals, is_new=is_new)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass on an image that somebody sent."""
        return await fetch(self._client, self._config, media, take)

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in messages of Slack's size."""
        return split(reply)

    async def receive(self, payload: Payload) -> Payload:
        """Take what Slack sends; what it is answered. What nobody knows is no reason for Slack to
        send it again."""
        match payload.get("type"):
            case "event_callback":
                await self._on_event(payload)
            case "block_actions":
                await self._on_press(payload)
            case "message_action" if shortcut := read(payload, Shortcut):
                await self._shortcuts.begin(shortcut)
            case "view_submission" if submission := read(payload, Submission):
                return await self._shortcuts.ask(submission)
            case None if command := read(payload, Command):
                is_direct = await self._people.is_direct(command.user_id, command.channel_id)
                await self._accept(self._reader.read_command(command, is_direct=is_direct))
        return {}

    async def _on_event(self, payload: Payload) -> None:
        envelope = read(payload, Envelope)
        if envelope is None:
            kind = as_object(payload.get("event")).get("type")
            log.warning("webhook.event_unreadable", type=str(kind)[:40])
            return
        event = envelope.event
        if event.type == "app_home_opened":
            self._home.open(envelope)
        if event.type == "agent_session_stopped":
            buttons = self._presence.buttons
            buttons.remove_stop_button(event.channel, event.thread_ts)
        await self._accept(self._reader.read_event(envelope, self.identity.users))

    async def _on_press(self, payload: Payload) -> None:
        if in_view := read(payload, ViewPress):
            if in_view.view.type == "home":
                await self._home.press(in_view)
            elif decided := self._forms.read_press(in_view):
                await self._accept(decided)
                self.tasks.start(self._forms.close(in_view, decided))
        elif pressed := read(payload, Press):
            if asks_for_form(pressed, self.name):
                self.tasks.start(self._forms.open(pressed))
                return
            address = self._reader.address_of(pressed)
            event = self._reader.read_press(pressed.actions[0], pressed.user, address)
            if await self._accept(event) and event and event.event.action == SAY:
                self.tasks.start(show_said(self._client, pressed, event.event.message.text))

    async def _accept(self, received: ReceivedEvent | None) -> bool:
        """Accept an event for the bot; false if it is none, or was accepted before."""
        if received is not None and received.names_no_thread:
            received = await self._in_thread(received)
        if received is None or not is_conversation(received.conversation, self.name):
            return False
        conversation, author = received.conversation, received.event.author_id
        waiting = self._sender.waiting
        concerns = not (received.if_participating or received.if_asked or received.is_for_others)
        if received.if_participating:
            concerns = await self._enricher.takes_part(conversation)
        if received.if_asked and not concerns:
            concerns = await waiting.is_asked(conversation, author)
        if received.author == "person":
            await self._enricher.begin_row(conversation, is_answered=concerns)
        if not concerns:
            return False
        if received.shown_in and author:
            conversation = await waiting.find_asked(conversation, author)
        event = received.event
        if received.author == "bot" and not await self._enricher.may_answer_bot(
            conversation, event.message.id
        ):
            return False
        return await self._host.accept(conversation, event)

    async def _in_thread(self, received: ReceivedEvent) -> ReceivedEvent:
        """A change in the conversation of its message, if the message is known."""
        conversation = await self._enricher.find_conversation(received.event.target)
        if not conversation:
            return received
        address = replace(read_address(received.event.address), thread=chat_of(conversation).thread)
        return ReceivedEvent(conversation, replace(received.event, address=write_address(address)))
