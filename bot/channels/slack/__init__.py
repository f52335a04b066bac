"""Slack: mentions answered in their threads, 1:1 conversations, slash commands; by webhook or Socket Mode."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import structlog
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bot.body import read_body
from bot.channels import Accept, AssertLease, Channel, Delivery, InboundEvent, Reply, Take
from bot.channels.kv import KeyValue
from bot.channels.slack.api import Api
from bot.channels.slack.approvals import Questions
from bot.channels.slack.assistant import Assistant
from bot.channels.slack.background import Background, during
from bot.channels.slack.bolt import bolt_app, dispatch
from bot.channels.slack.delivery import Posting
from bot.channels.slack.doctor import Checkup, check
from bot.channels.slack.events import Heard, Hearing
from bot.channels.slack.files import Files
from bot.channels.slack.identity import Identity
from bot.channels.slack.inbound import MAX_BODY, PATH, is_signed, read_payload
from bot.channels.slack.live_view import live_view
from bot.channels.slack.messages import Sending
from bot.channels.slack.options import SCOPES, Options, Timing
from bot.channels.slack.people import People
from bot.channels.slack.preparing import Preparing
from bot.channels.slack.presses import decision
from bot.channels.slack.socket_mode import listening
from bot.channels.slack.splitting import split
from bot.channels.slack.status import StatusLines
from bot.channels.slack.stop_button import StopButtons
from bot.channels.slack.stream_delivery import Finishing
from bot.channels.slack.stream_notes import StreamNotes
from bot.channels.slack.streaming import Streaming
from bot.channels.slack.types import Address, read_address, read_command, read_envelope, write_address
from bot.channels.traffic import Records
from bot.errors import BadInput, StoreUnavailable
from bot.live_events import Watcher
from bot.texts import Texts
from bot.transcript import Media

__all__ = ["SCOPES", "Checkup", "Options", "Slack", "Timing"]

log = structlog.stdlib.get_logger(__name__)

STYLE = """\
You write in Slack, which renders Markdown: short paragraphs, lists and code blocks where they help, no headings for a \
short answer. Be concise: the answer first, then only what helps."""
TAKES_PART_S = 90 * 86_400


class Slack(Channel):
    """The channel (``bot.channels.Channel``). Enter it before use; what it has under way ends with the context.

    Args:
        tool_commands: words that call a tool.
        clock: seconds since the epoch, for the age of signatures.
        priority_kv: the same notes, by a way that is free of turns: what is read before a 200.

    Attributes:
        identity: who the bot is, once Slack has told.
        background: what is under way and nobody waits for.
    """

    name = "slack"
    style = STYLE

    def __init__(
        self,
        accept: Accept,
        notes: KeyValue,
        texts: Texts,
        options: Options,
        tool_commands: Collection[str] = (),
        clock: Callable[[], float] = time.time,
        priority_kv: KeyValue | None = None,
    ) -> None:
        self._accept = accept
        self._notes = notes
        self._door_notes = priority_kv or notes
        self._options = options
        self._clock = clock
        self.background = Background()
        self._api = Api(options)
        self.identity = Identity(self._api, options.timing)
        self._records = Records(notes, "slack", "SLACK_SIGNING_SECRET")
        self._hearing = Hearing(options, texts, tool_commands)
        people = People(self._api, notes)
        self._preparing = Preparing(self._api, people, self.identity, options.timing.patience_s)
        self._assistant = Assistant(self._api, people, notes, texts, options.language)
        streams = StreamNotes(notes)
        self._streaming = Streaming(self._api, streams, self.background, options.timing)
        settle_s = options.timing.settle_s
        finishing = Finishing(self._api, streams, self._streaming, self.identity, settle_s)
        sending = Sending(self._api, settle_s)
        self._questions = Questions(self._api, sending, notes, texts, options.language)
        self._posting = Posting(self._api, sending, finishing, self._questions)
        self._files = Files(self._api, options)
        self._status = StatusLines(self._api, texts, self.background, options.timing.pace_s)
        self._buttons = StopButtons(self._api, notes, self.background, options.timing.stop_after_s)
        self._app = bolt_app(self._api.client, self._on_event, self._on_command, self._on_press)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Slack:
        await self._open.enter_async_context(self._api)
        self._open.push_async_callback(self._records.aclose)
        self._open.push_async_callback(self.background.close)
        await self._open.enter_async_context(during(self.identity.learn()))
        if self._options.app_token:
            await self._open.enter_async_context(listening(self._app, self._options))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def routes(self) -> Sequence[BaseRoute]:
        """The webhook, where there is a secret to know Slack by."""
        return (Route(PATH, self._webhook, methods=["POST"]),) if self._options.signing_secret else ()

    def live_view(self, conversation: str, address: str) -> AbstractAsyncContextManager[Watcher]:
        """The status under the message that is answered, a button to stop it, and the answer as it is written."""
        where = read_address(address)
        return live_view(self._status, self._buttons, self._streaming, where, where.language or self._options.language)

    async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> int | None:
        """Post one reply, or make it of what was shown of it.

        Raises:
            DeliverLater: passing failure.
            DeliveryRefused: final failure.
        """
        shown_at = await self._posting.deliver(conversation, read_address(delivery.address), delivery, assert_lease)
        self._records.delivery(self._now())
        return shown_at

    async def enrich(self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool) -> list[InboundEvent]:
        """Names, time zones, files that a mention left out, and what a thread was about. Never raises."""
        first, newest = arrivals[0].message.id, arrivals[-1]
        # After /reset the bot is no stranger: what it was asked to forget it must not read again.
        is_new = await self._take_part(conversation, first) == first and is_new
        self.background.start(self._assistant.entitle(read_address(newest.address), newest.message.text))
        return await self._preparing.enrich(conversation, arrivals, is_new=is_new)

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        """Hand over an image that somebody sent."""
        return await self._files.fetch(media, take)

    def notice_target(self, recipient: str) -> tuple[str, str]:
        """A channel, or a person's 1:1; to write there Slack wants no team."""
        conversation, _ = super().notice_target(recipient)
        return conversation, write_address(Address(recipient))

    def split(self, reply: Reply) -> list[Reply]:
        """The reply in messages of Slack's size."""
        return [replace(reply, text=piece) for piece in split(reply.text)]

    async def check(self) -> Checkup:
        """What ``kaiwa doctor`` tells of Slack."""
        return await check(self._api, self._notes)

    async def _webhook(self, request: Request) -> Response:
        body = await read_body(request, MAX_BODY)
        if body is None:
            return Response(status_code=413)
        if not is_signed(self._options.signing_secret, request.headers, body, self._clock()):
            self._records.bad_signature(self._now())
            return Response(status_code=401)
        try:
            payload = read_payload(body)
        except BadInput:
            return Response(status_code=400)
        response = await dispatch(self._app, payload)
        return Response(response.body, response.status, response.first_headers_without_set_cookie())

    async def _on_event(self, payload: dict[str, Any]) -> None:
        self._records.webhook(self._now())
        envelope = read_envelope(payload)
        if envelope is None:
            log.warning("webhook.event_unreadable", type=str(payload["event"]["type"])[:40])
            return
        if envelope.event.type in ("assistant_thread_started", "app_home_opened"):
            self.background.start(self._assistant.welcome(envelope))
        if envelope.event.type == "agent_session_stopped":
            self._buttons.pressed(envelope.event.channel or "", envelope.event.thread_ts or "")
        await self._take(self._hearing.event(envelope, self.identity.users))

    async def _on_command(self, payload: dict[str, Any]) -> None:
        self._records.webhook(self._now())
        command = read_command(payload)
        await self._take(self._hearing.command(command) if command else None)

    async def _on_press(self, payload: dict[str, Any]) -> None:
        self._records.webhook(self._now())
        await self._take(decision(payload, self._options))

    async def _take(self, heard: Heard | None) -> None:
        if heard and await self._is_meant(heard):
            await self._accept(heard.conversation, heard.arrival)

    async def _is_meant(self, heard: Heard) -> bool:
        if heard.if_taking_part:
            return await self._door_notes.get(_taking_part(heard.conversation)) is not None
        author = heard.arrival.message.author
        return not heard.if_asked or (
            author is not None and await self._questions.is_asked(heard.conversation, author.id, self._door_notes)
        )

    def _now(self) -> int:
        return round(self._clock() * 1_000)

    async def _take_part(self, conversation: str, message_id: str) -> str:
        """Remember that the bot talks here, for edits and for threads that go on without a mention.

        Returns:
            The id of the message with which that began.
        """
        note = _taking_part(conversation)
        try:
            since = await self._notes.get(note) or message_id.encode()
            await self._notes.set(note, since, TAKES_PART_S)
        except StoreUnavailable:
            log.warning("slack.thread_not_stored")
            return message_id
        return since.decode()


def _taking_part(conversation: str) -> str:
    return f"slack:takes_part:{conversation}"
