"""The console behind the channels' Protocol: what people write and decide here, and what they are
shown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

import structlog
from msgspec.structs import replace
from starlette.routing import BaseRoute

from bot.channels import (
    Abilities,
    Accept,
    AssertLease,
    ButtonCard,
    Channel,
    Delivery,
    InboundEvent,
    Reply,
    Take,
    Uploads,
)
from bot.channels.console.entries import Entry, entries_of, shown_files
from bot.channels.console.inbound import ID, Endpoints
from bot.channels.console.inbound import Reads as Reads
from bot.channels.console.live import BufferedWatcher, Live, decode_events
from bot.clock import now_ms
from bot.errors import BadInput, StoreUnavailable
from bot.file_types import READABLE
from bot.live_events import (
    Answered,
    CardClosed,
    CardShown,
    LiveEvent,
    Noticed,
    Watcher,
)
from bot.safe_text.glyphs import safe_name
from bot.texts import Texts, preferred_language
from bot.transcript import Author, Media, Message, Text, new_id
from toolset.web.text import one_line

log = structlog.stdlib.get_logger(__name__)

STYLE = (
    "You write in a chat window that renders Markdown. Be concise: the answer first, then only "
    "what helps."
)
LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")
MAX_CHARACTERS = 8_000
# Control characters but tab and line feed, and halves of surrogate pairs.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Console(Channel):
    """The channel of page and terminal (``bot.channels.Channel``).

    Args:
        language: of catalogue sentences, where the sender names none that the catalogue has.
    """

    name = "console"
    style = STYLE
    abilities = Abilities(streams=True, is_prompt=True, feedback_buttons=True)

    def __init__(
        self,
        accept: Accept,
        live: Live,
        reads: Reads,
        texts: Texts,
        language: str,
        uploads: Uploads,
    ) -> None:
        self._uploads = uploads
        self._accept = accept
        self._live = live
        self._reads = reads
        self._texts = texts
        self._language = language
        self._watchers: WeakValueDictionary[str, BufferedWatcher] = WeakValueDictionary()
        self._closing = asyncio.Event()

    async def say(
        self,
        conversation: str,
        text: str,
        *,
        files: Sequence[Media] = (),
        message_id: str | None = None,
        locale: str = "",
        time_zone: str = "",
        replaces: str = "",
    ) -> str:
        """Accept a message, durably; the same message id is accepted once.

        Args:
            files: that were uploaded to this conversation.
            replaces: id of an earlier message, which is taken back with its answer; its files stay
                where there are no others.
            locale: of the device, like ``time_zone``; a value that cannot be used is left out.

        Returns:
            The message's id.

        Raises:
            BadInput: with a sentence in the sender's language.
            StoreUnavailable: nothing was stored.
        """
        text = text.replace("\r\n", "\n").strip()
        if replaces and not files:
            files = await self._files_of(conversation, replaces)
        if complaint := _complaint(text, files):
            raise BadInput(self.sentence(complaint, locale))
        if message_id is not None and not ID.fullmatch(message_id):
            raise BadInput(self.sentence("bad_id", locale))
        sender = Author(_person(conversation), "", _locale(locale), _zone(time_zone))
        parts: list[Text | Media] = [Text(text)] if text else []
        for file in files:
            parts.append(replace(file, name=safe_name(file.name)))
        message = _message(message_id or new_id("msg"), sender, tuple(parts))
        if replaces:
            back = _message(f"back_{message.id}", sender)
            await self._accept(conversation, InboundEvent(back, event="unsent", target=replaces))
        await self._accept(conversation, InboundEvent(message))
        return message.id

    async def _files_of(self, conversation: str, message_id: str) -> list[Media]:
        """The files of a message that the history holds."""
        messages = await self._reads.history(conversation)
        asked = [message for message in messages if message.id == message_id]
        return [part for message in asked for part in message.parts if isinstance(part, Media)]

    async def fetch(self, conversation: str, media: Media, take: Take) -> bool:
        try:
            upload = await self._uploads.read(conversation, media.ref)
        except StoreUnavailable as error:
            log.warning("media.not_fetched", cause=str(error))
            return False
        return upload is not None and take(upload.data)

    async def entries(self, conversation: str) -> list[Entry]:
        """The history of a conversation as the terminal shows it, oldest first.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        messages = await self._reads.history(conversation)
        title = partial(self.tool_title, languages="")
        return await entries_of(conversation, messages, self._reads.files, title)

    async def cards(self, conversation: str, messages: Sequence[Message]) -> list[CardShown]:
        """The cards that a conversation keeps or waits for, and others that were shown with these
        messages.

        Raises:
            StoreUnavailable: they cannot be read.
        """
        return [_card_shown(card) for card in await self._reads.cards(conversation, messages)]

    async def press(self, conversation: str, action: str, value: str, *, locale: str = "") -> None:
        """Accept an action, as a press of a button, durably; what comes of it is shown to all
        viewers.

        Raises:
            StoreUnavailable: nothing was stored.
        """
        press = _message(new_id("press"), Author(_person(conversation), locale=_locale(locale)))
        await self._accept(
            conversation, InboundEvent(press, event="action", action=action, target=value)
        )

    @asynccontextmanager
    async def watch(self, conversation: str) -> AsyncGenerator[AsyncIterator[LiveEvent]]:
        """The live events from now on. Who enters the context before ``say`` misses nothing of the
        answer.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        async with self._live.subscribe(conversation) as events:
            yield decode_events(events)

    @asynccontextmanager
    async def live_view(self, conversation: str, address: str) -> AsyncGenerator[Watcher]:
        """A watcher that shows a running turn to all viewers; the answer ends the view."""
        yield self.watcher(conversation)

    def watcher(self, conversation: str) -> BufferedWatcher:
        """The conversation's watcher. There is one, so that text and answer stay in order."""
        watcher = self._watchers.get(conversation)
        if watcher is None:
            watcher = self._watchers[conversation] = BufferedWatcher(self._live, conversation)
        return watcher

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        """Show the reply to all viewers. An answer without viewers is delivered too: the history
        holds it."""
        reply, shown_at = delivery.reply, now_ms()
        files = await shown_files(reply.files, self._reads.files)
        event: LiveEvent = Answered(
            delivery.turn_id,
            reply.text,
            bool(reply.failure),
            note=reply.failure,
            files=files,
            cards=reply.cards,
            buttons=reply.sayings,
            ratings=reply.ratings,
        )
        if reply.card is not None:
            event = _card_shown(reply.card)
        elif reply.replaces:
            event = CardClosed(reply.replaces, reply.text)
        elif reply.private:
            event = Noticed(reply.text)
        await self.watcher(conversation).show(event)
        return shown_at

    def split(self, reply: Reply) -> list[Reply]:
        """A card with buttons is shown before the answer, which ends the turn for whoever
        watches."""
        if not reply.card or reply.awaited:
            return [reply]
        return [Reply("", card=reply.card), replace(reply, card=None)]

    def close(self) -> None:
        """End all event streams: a server that shuts down waits for its open responses."""
        self._closing.set()

    def routes(self) -> Sequence[BaseRoute]:
        """Messages and presses in; history and live events out."""
        return Endpoints(self, self._live, self._reads, self._uploads, self._closing).routes()

    def tool_title(self, name: str, languages: str) -> str:
        """The title of a tool; empty without one.

        Args:
            languages: see ``sentence``.
        """
        return self._reads.title(name, preferred_language(languages, self._language))

    def sentence(self, key: str, languages: str, **values: object) -> str:
        """A sentence of the catalogue.

        Args:
            languages: of a browser (Accept-Language) or a device.
        """
        language = preferred_language(languages, self._language)
        return self._texts.get(f"console.{key}", language, limit=f"{MAX_CHARACTERS:,}", **values)


def _message(message_id: str, author: Author, parts: tuple[Text | Media, ...] = ()) -> Message:
    return Message(message_id, "user", parts, now_ms(), author=author)


def _card_shown(card: ButtonCard) -> CardShown:
    return CardShown(
        card.key, card.title, card.rows, card.note, card.buttons, card.until, card.call_id
    )


def _complaint(text: str, files: Sequence[Media] = ()) -> str:
    """Key of the sentence about what is wrong with a message; empty if nothing is."""
    if any(file.mime not in READABLE for file in files):
        return "not_json"
    if not (files or one_line(text).strip()):
        return "empty"
    if len(text) > MAX_CHARACTERS:
        return "too_long"
    if UNPRINTABLE.search(text):
        return "unprintable"
    return ""


def _person(conversation: str) -> str:
    """The author's id where none is given: a conversation is one person's."""
    return conversation.partition(":")[2]


def _locale(tag: str) -> str:
    return tag if LOCALE.fullmatch(tag) else ""


def _zone(name: str) -> str:
    """The name, empty if this system does not know the zone: a device's list may be newer."""
    try:
        return ZoneInfo(name).key if name else ""
    except (KeyError, ValueError, OSError):
        return ""
