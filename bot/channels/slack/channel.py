"""Slack behind the channels' Protocol: the parts of this package, put together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import structlog
from msgspec.structs import replace
from starlette.routing import BaseRoute, Route

from bot.channels import (
    SAY,
    Abilities,
    AssertLease,
    Channel,
    Delivery,
    Host,
    InboundEvent,
    Place,
    Reply,
    Take,
    Validity,
)
from bot.channels.markdown import split_markdown
from bot.channels.slack import Config
from bot.channels.slack.answer_blocks import AnswerBlocks
from bot.channels.slack.answers import Answers
from bot.channels.slack.assistant import Assistant
from bot.channels.slack.buttons import read_press, show_said
from bot.channels.slack.client import Client
from bot.channels.slack.delivery import Sender
from bot.channels.slack.directs import DirectChannels
from bot.channels.slack.events import Reader, ReceivedEvent
from bot.channels.slack.files import Files
from bot.channels.slack.formatting import LIMIT
from bot.channels.slack.forms import Forms, asks_for_form
from bot.channels.slack.groups import Groups
from bot.channels.slack.home import Home
from bot.channels.slack.inbound import PATH, WebhookReceiver
from bot.channels.slack.lookups import DAY_S, Enricher, Identity, People
from bot.channels.slack.messages import Messages, OutboundMessage
from bot.channels.slack.presence import Presence
from bot.channels.slack.shortcuts import Shortcuts
from bot.channels.slack.streaming import Streaming
from bot.channels.slack.tasks import BackgroundTasks, Timing
from bot.channels.slack.transport import Listeners, bolt_app, open_socket
from bot.channels.slack.types import (
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
from bot.channels.slack.uploads import Uploads
from bot.channels.slack.waiting_cards import MOST_ROWS, WaitingCards
from bot.channels.traffic import TrafficRecorder
from bot.clock import now_ms
from bot.errors import StoreUnavailable
from bot.live_events import Watcher
from bot.tasks import run_beside
from bot.transcript import Media

log = structlog.stdlib.get_logger(__name__)

STYLE = """\
You write in Slack, which renders Markdown: short paragraphs, lists and code blocks where they \
help, no headings for a short answer. Be concise: the answer first, then only what helps."""
DEFAULT_TIMING = Timing()
PARTICIPATION_S = 90 * 86_400
CHANGE_PAUSE_S = 2.0  # Slack takes about 50 changes of messages a minute


class Slack(Channel):
    """The channel of Slack (``bot.channels.Channel``). Enter it before use; its background tasks
    end with the context.

    Attributes:
        identity: the bot's own ids, once Slack has sent them.
        tasks: background tasks.
    """

    name = "slack"
    style = STYLE

    def __init__(self, config: Config, host: Host, *, timing: Timing = DEFAULT_TIMING) -> None:
        self._config = config
        self._host = host
        self._timing = timing
        self.tasks = BackgroundTasks()
        self._client = Client(config.slack_bot_token.get_secret_value(), config.slack_api_base_url)
        self.identity = Identity(self._client, timing)
        self._traffic = TrafficRecorder(host.kv, self.name, "SLACK_SIGNING_SECRET")
        self._reader = Reader(config, host)
        people = self._people = People(self._client, host.kv, host.language)
        groups = Groups(self._client, host.kv)
        self._enricher = Enricher(
            self._client,
            people,
            groups,
            identity=self.identity,
            texts=host.texts,
            lookup_timeout_s=timing.lookup_timeout_s,
        )
        self._assistant = Assistant(self._client, people, host)
        self._directs = DirectChannels(self._client, host)
        streaming = Streaming(self._client, host.kv, self.tasks, timing)
        messages = Messages(self._client, timing.settle_s)
        self.abilities = Abilities(
            deletes=True,
            streams=True,
            feedback_buttons=config.slack_feedback,
            most_rows=MOST_ROWS,
            change_pause_s=CHANGE_PAUSE_S,
        )
        answers = Answers(self._client, streaming, self.identity, messages, AnswerBlocks())
        self._waiting = WaitingCards(self._client, messages, host)
        uploads = Uploads(self._client, config, messages, host.files, host.kv)
        self._sender = Sender(self._client, answers, self._waiting, uploads, messages)
        self._files = Files(self._client, config)
        self._forms = Forms(self._client, config, host)
        self._home = Home(self._client, people, config, host, self.tasks)
        self._presence = Presence(self._client, host, self.tasks, streaming, timing)
        self._shortcuts = Shortcuts(
            self._client, people, config, host, self.tasks, directs=self._directs
        )
        listeners = (
            self._on_event,
            self._on_command,
            self._on_press,
            self._on_shortcut,
            self._on_submission,
        )
        self._app = bolt_app(self._client.sdk, Listeners(*listeners))
        secret = config.slack_signing_secret.get_secret_value()
        self._receiver = WebhookReceiver(self._app, secret, self._traffic)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Slack:
        await self._open.enter_async_context(self._client)
        self._open.push_async_callback(self._traffic.aclose)
        self._open.push_async_callback(self.tasks.close)
        await self._open.enter_async_context(run_beside(self.identity.learn()))
        app_token = self._config.slack_app_token.get_secret_value()
        if app_token and self._host.listens:
            await self._open.enter_async_context(
                open_socket(self._app, app_token, self._timing, self._host.listens)
            )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook, if a signing secret is set."""
        is_on = bool(self._config.slack_signing_secret.get_secret_value())
        return (Route(PATH, self._receiver.answer, methods=["POST"]),) if is_on else ()

    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """A status line, a stop button, and the answer while it is written."""
        return self._presence.live_view(conversation, read_address(address))

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int | None:
        """Post one reply, or finish the stream that shows it; or delete what a turn has shown.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        if delivery.address:
            address = read_address(delivery.address)
        else:
            address = Address(chat_of(conversation).channel)
        shown_at = await self._sender.send(
            OutboundMessage(conversation, address, delivery, assert_lease)
        )
        if delivery.deletes is not None:  # nobody goes on with a turn that a dead process has shown
            self._presence.buttons.remove_stop_button(address.channel, address.thread or address.ts)
        if not delivery.reply.buttons:  # such as the answer to /stop, for which no turn is shown
            self._presence.buttons.remove_left_button(conversation, address.channel)
        self._traffic.record("delivery", now_ms())
        return shown_at

    def place(self, conversation: str) -> Place:
        """The channel, for all its threads."""
        return Place(chat_of(conversation)._replace(thread="").conversation)

    def validity(self, address: str) -> Validity:
        """URLs expire, and some things are read for the answer to that message alone. The answer to
        a slash command of a channel goes to whoever gave it."""
        where = read_address(address)
        once = {
            "response_url": "",
            "private_url": "",
            "partial": False,
            "quoted_channel": "",
            "quoted_thread": "",
        }
        later = write_address(replace(where, **once))
        is_shared = not where.response_url or where.channel.startswith("D")
        return Validity(address, later, shows_cards=is_shared)

    def prefetch(self, conversation: str, author: str) -> None:
        """Read the author's profile, and whether the bot takes part in the conversation."""
        chat = chat_of(conversation)
        self._people.prefetch(author)
        if chat.is_group:
            self._host.kv.prefetch(_participation_key(conversation))

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        """Names, time zones, files that a mention left out, and the earlier messages of a
        thread."""
        first, newest = arrivals[0].message.id, arrivals[-1]
        # After /reset the bot must not read the thread's earlier messages again.
        is_new = await self._record_participation(conversation, first) == first and is_new
        chat = chat_of(conversation)
        if chat.channel.startswith("D") and newest.author_id:
            self._directs.note(newest.author_id, chat.channel)
        self.tasks.start(
            self._assistant.set_title(read_address(newest.address), newest.message.text)
        )
        enriched = await self._enricher.enrich(conversation, arrivals, is_new=is_new)
        whose = "" if chat.is_group else f"slack:{newest.author_id}"
        lifetime_s = (self._host.days + 1) * DAY_S
        for quote in enriched[0].message.quotes:  # so that a deletion that names no thread finds it
            name = _quoted_key(quote.id)
            self._host.kv.set_later(name, conversation.encode(), lifetime_s, whose)
        return enriched

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Pass on an image that somebody sent."""
        return await self._files.fetch(media, take)

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in messages of Slack's size; each file and a card with buttons are messages of
        their own."""
        if reply.awaited:
            return [reply]
        texts = split_markdown(reply.text, LIMIT)
        *above, last = replace(reply, files=(), card=None).in_parts(texts)
        pieces = [*above, last]
        if (reply.files or reply.card) and not (last.text.strip() or last.cards or last.sayings):
            pieces.pop()
        files = [Reply(file.text, private=reply.private, files=(file,)) for file in reply.files]
        if reply.card:
            files.append(Reply(reply.card.title, card=reply.card))
        return pieces + files

    async def _on_event(self, payload: dict[str, Any]) -> None:
        self._traffic.record("webhook", now_ms())
        envelope = read(payload, Envelope)
        if envelope is None:
            log.warning("webhook.event_unreadable", type=str(payload["event"]["type"])[:40])
            return
        if envelope.event.type == "app_home_opened":
            self._open_home(envelope)
        if envelope.event.type == "agent_session_stopped":
            self._presence.buttons.remove_stop_button(
                envelope.event.channel or "", envelope.event.thread_ts or ""
            )
        await self._accept_received(self._reader.read_event(envelope, self.identity.users))

    def _open_home(self, envelope: Envelope) -> None:
        """Somebody opens a tab of the app, which stands in their 1:1 with the bot."""
        event = envelope.event
        if event.user and event.channel:
            self._directs.note(event.user, event.channel)
        self.tasks.start(self._assistant.welcome(envelope))
        if event.tab == "home":
            self.tasks.start(self._home.open(envelope))

    async def _on_command(self, payload: dict[str, Any]) -> None:
        self._traffic.record("webhook", now_ms())
        if command := read(payload, Command):
            is_direct = await self._directs.is_sent_in(command)
            await self._accept_received(self._reader.read_command(command, is_direct=is_direct))

    async def _on_press(self, payload: dict[str, Any]) -> None:
        self._traffic.record("webhook", now_ms())
        if in_view := read(payload, ViewPress):
            await self._on_view_press(in_view)
        elif pressed := read(payload, Press):
            await self._on_message_press(pressed)

    async def _on_view_press(self, pressed: ViewPress) -> None:
        if pressed.view.type == "home":
            await self._home.press(pressed)
        elif decided := self._forms.read_press(pressed):
            await self._accept_received(decided)
            self.tasks.start(self._forms.close(pressed, decided))

    async def _on_message_press(self, pressed: Press) -> None:
        if asks_for_form(pressed):
            self.tasks.start(self._forms.open(pressed))
            return
        event = read_press(pressed, self._config)
        if event and await self._accept_received(event) and event.event.action == SAY:
            self.tasks.start(show_said(self._client, pressed, event))

    async def _on_shortcut(self, payload: dict[str, Any]) -> None:
        self._traffic.record("webhook", now_ms())
        if shortcut := read(payload, Shortcut):
            await self._shortcuts.begin(shortcut)

    async def _on_submission(self, payload: dict[str, Any]) -> dict[str, Any]:
        self._traffic.record("webhook", now_ms())
        submission = read(payload, Submission)
        return await self._shortcuts.ask(submission) if submission else {}

    async def _accept_received(self, received: ReceivedEvent | None) -> bool:
        """Accept an event for the bot; false if it is none, or was accepted before."""
        if received is not None and received.names_no_thread:
            received = await self._in_thread(received)
        if (
            received is None
            or not is_conversation(received.conversation)
            or not await self._is_for_bot(received)
        ):
            return False
        conversation, author = received.conversation, received.event.message.author
        if received.shown_in and author:
            conversation = await self._waiting.find_asked(conversation, author.id)
        return await self._host.accept(conversation, received.event)

    async def _in_thread(self, received: ReceivedEvent) -> ReceivedEvent:
        """A change in the conversation of its message, if the message is known."""
        target = received.event.target
        conversation = await self._host.find_conversation(target)
        if not conversation:
            conversation = (await self._host.priority_kv.get(_quoted_key(target)) or b"").decode()
        if not conversation:
            return received
        address = replace(read_address(received.event.address), thread=chat_of(conversation).thread)
        return ReceivedEvent(conversation, replace(received.event, address=write_address(address)))

    async def _is_for_bot(self, received: ReceivedEvent) -> bool:
        if received.if_participating:
            return (
                await self._host.priority_kv.get(_participation_key(received.conversation))
                is not None
            )
        author = received.event.message.author
        return not received.if_asked or (
            author is not None and await self._waiting.is_asked(received.conversation, author.id)
        )

    async def _record_participation(self, conversation: str, message_id: str) -> str:
        """Store that the bot takes part in a conversation: edits, and messages without a mention,
        count there.

        Returns:
            The id of the message with which that began.
        """
        if not chat_of(conversation).is_group:  # everything counts there
            return message_id
        key = _participation_key(conversation)
        try:
            if (since := await self._host.kv.get(key)) is None:
                since = message_id.encode()
                await self._host.kv.set(key, since, PARTICIPATION_S)
            else:
                self._host.kv.set_later(key, since, PARTICIPATION_S)
        except StoreUnavailable:
            log.warning("slack.thread_not_stored")
            return message_id
        return since.decode()


def _participation_key(conversation: str) -> str:
    return f"slack:takes_part:{conversation}"


def _quoted_key(message_id: str) -> str:
    """The note of the conversation that quotes an earlier message of its thread."""
    return f"slack:quoted:{message_id}"
