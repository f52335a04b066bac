"""The console behind the channels' Protocol: what people say here, what they decide, and what they are shown."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

from starlette.routing import BaseRoute

from bot.channels import Accept, AssertLease, Channel, Delivery, InboundEvent, Question
from bot.channels.console.inbound import ID, Endpoints, Past
from bot.channels.console.live import BufferedWatcher, Live, decode_events
from bot.clock import now_ms
from bot.errors import BadInput
from bot.live_events import Answered, ApprovalAsked, ApprovalSettled, LiveEvent, Noticed, Watcher
from bot.safe_text.arguments import render_arguments
from bot.texts import Texts, preferred_language
from bot.transcript import Author, Message, Text, new_id

STYLE = "You write in a chat window that renders Markdown. Be concise: the answer first, then only what helps."
LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")
MAX_CHARACTERS = 8_000

Open = Callable[[str], Awaitable[Question | None]]


class Console(Channel):
    """The channel of page and terminal (``bot.channels.Channel``).

    Args:
        past: the committed messages of a conversation, oldest first.
        question: the one that is open in a conversation.
        language: of our own sentences, where the sender names none that we speak.
    """

    name = "console"
    style = STYLE
    is_prompt = True

    def __init__(self, accept: Accept, live: Live, past: Past, question: Open, texts: Texts, language: str) -> None:
        self._accept = accept
        self._live = live
        self._past = past
        self._question = question
        self._texts = texts
        self._language = language
        self._watchers: WeakValueDictionary[str, BufferedWatcher] = WeakValueDictionary()
        self._closing = asyncio.Event()

    async def say(
        self,
        conversation: str,
        text: str,
        *,
        message_id: str | None = None,
        locale: str = "",
        time_zone: str = "",
        author: str = "",
    ) -> str:
        """Accept what somebody typed, durably; a message id counts once, however often it comes.

        Args:
            locale: as the device tells it, like ``time_zone``; what cannot be used is left out.

        Returns:
            The message's id.

        Raises:
            BadInput: with a sentence in the sender's language.
            StoreUnavailable: nothing was kept.
        """
        text = text.replace("\r\n", "\n").strip()
        if complaint := _complaint(text):
            raise BadInput(self.sentence(complaint, locale))
        if message_id is not None and not ID.fullmatch(message_id):
            raise BadInput(self.sentence("bad_id", locale))
        sender = Author(author or _person(conversation), "", _locale(locale), _zone(time_zone))
        message = _message(message_id or new_id("msg"), sender, Text(text))
        await self._accept(conversation, InboundEvent(message))
        return message.id

    async def open_question(self, conversation: str) -> ApprovalAsked | None:
        """The question that is open.

        Raises:
            StoreUnavailable: nobody knows.
        """
        question = await self._question(conversation)
        return _approval_asked(question) if question else None

    async def decide(self, conversation: str, question_id: str, *, approved: bool, locale: str = "") -> bool:
        """Accept a decision, durably; false where that question is not open. The first decision counts.

        Raises:
            StoreUnavailable: nothing was kept.
        """
        question = await self._question(conversation)
        if question is None or question.id != question_id:
            return False
        press = _message(new_id("press"), Author(_person(conversation), locale=_locale(locale)))
        await self._accept(conversation, InboundEvent(press, event="decision", target=question_id, approved=approved))
        return True

    async def stop(self, conversation: str) -> None:
        """End the turn under way; the wish is kept durably.

        Raises:
            StoreUnavailable: nothing was kept.
        """
        wish = _message(new_id("stop"), Author(_person(conversation)))
        await self._accept(conversation, InboundEvent(wish, event="stop"))

    @asynccontextmanager
    async def watch(self, conversation: str) -> AsyncGenerator[AsyncIterator[LiveEvent]]:
        """What happens from now on: enter it, then say something, and nothing of the answer is missed.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        async with self._live.subscribe(conversation) as events:
            yield decode_events(events)

    @asynccontextmanager
    async def live_view(self, conversation: str, address: str) -> AsyncGenerator[Watcher]:
        """Where a turn shows itself; the viewers see its end by the answer."""
        yield self.watcher(conversation)

    def watcher(self, conversation: str) -> BufferedWatcher:
        """One watcher per conversation, so that words and their end stay in order."""
        watcher = self._watchers.get(conversation)
        if watcher is None:
            watcher = self._watchers[conversation] = BufferedWatcher(self._live, conversation)
        return watcher

    async def deliver(self, conversation: str, delivery: Delivery, assert_lease: AssertLease) -> int:
        """Tell whoever watches. The committed history is the truth: an answer nobody sees is delivered too."""
        reply, shown_at = delivery.reply, now_ms()
        event: LiveEvent = Answered(delivery.turn_id, reply.text, reply.failed, reply.note)
        if reply.question is not None:
            event = _approval_asked(reply.question)
        elif reply.settles:
            event = ApprovalSettled(reply.settles, reply.text)
        elif reply.private:
            event = Noticed(reply.text)
        await self.watcher(conversation).show(event)
        return shown_at

    def close(self) -> None:
        """End all event streams: a server that shuts down waits for its open responses."""
        self._closing.set()

    def routes(self) -> Sequence[BaseRoute]:
        """Messages, decisions and wishes to stop in; history and live events out."""
        return Endpoints(self, self._live, self._past, self._closing).routes()

    def sentence(self, key: str, languages: str) -> str:
        """A sentence of the catalogue.

        Args:
            languages: as a browser or a device tells them.
        """
        language = preferred_language(languages, self._language)
        return self._texts.get(f"console.{key}", language, limit=f"{MAX_CHARACTERS:,}")


def _message(message_id: str, author: Author, *parts: Text) -> Message:
    return Message(message_id, "user", parts, now_ms(), author=author)


def _approval_asked(question: Question) -> ApprovalAsked:
    shown = render_arguments(question.arguments)
    return ApprovalAsked(question.id, question.call_id, question.tool, shown, question.until)


def _complaint(text: str) -> str:
    """Key of what is wrong with a text, or nothing."""
    if not any(character.isprintable() and not character.isspace() for character in text):
        return "empty"
    if len(text) > MAX_CHARACTERS:
        return "too_long"
    unfit = any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text)
    return "unprintable" if unfit else ""


def _person(conversation: str) -> str:
    """Who talks here, where nobody says who it is: a conversation is one person's."""
    return conversation.partition(":")[2]


def _locale(tag: str) -> str:
    return tag if LOCALE.fullmatch(tag) else ""


def _zone(name: str) -> str:
    """The name where this system knows the zone: a device's list may be newer than ours."""
    try:
        return ZoneInfo(name).key if name else ""
    except (KeyError, ValueError, OSError):
        return ""
