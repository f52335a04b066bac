"""The console: the page's and the terminal's way in, watched live while a turn runs."""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from bot.body import read_body
from bot.broadcast import GatheringWatcher, Live, decoded
from bot.channels import Accept, Arrival, Channel, Delivery, StillOurs
from bot.errors import BadInput, StoreUnavailable
from bot.live import Answered, LiveEvent, Watcher
from bot.sse import EventStream
from bot.texts import Texts, preferred_language
from bot.transcript import Author, Message, Text, encode, new_id

STYLE = "You write in a chat window that renders Markdown. Be concise: the answer first, then only what helps."
ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
LOCALE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}")
MAX_CHARACTERS = 8_000
MAX_BODY = 64 * 1024
RETRY_AFTER_S = 2

Past = Callable[[str], Awaitable[Sequence[Message]]]
Endpoint = Callable[[Request], Awaitable[ASGIApp]]


class Console(Channel):
    """The channel of page and terminal (``bot.channels.Channel``).

    Args:
        past: the committed messages of a conversation, oldest first.
        language: of our own sentences, where the sender names none that we speak.
    """

    name = "console"
    style = STYLE

    def __init__(self, accept: Accept, live: Live, past: Past, texts: Texts, language: str) -> None:
        self._accept = accept
        self._live = live
        self._past = past
        self._texts = texts
        self._language = language
        self._watchers: WeakValueDictionary[str, GatheringWatcher] = WeakValueDictionary()
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
            raise BadInput(self._sentence(complaint, locale))
        if message_id is not None and not ID.fullmatch(message_id):
            raise BadInput(self._sentence("bad_id", locale))
        sender = Author(
            author or conversation.partition(":")[2], "", locale if LOCALE.fullmatch(locale) else "", _zone(time_zone)
        )
        message = Message(
            message_id or new_id("msg"), "user", (Text(text),), time.time_ns() // 1_000_000, author=sender
        )
        await self._accept(conversation, Arrival(message))
        return message.id

    @asynccontextmanager
    async def watch(self, conversation: str) -> AsyncGenerator[AsyncIterator[LiveEvent]]:
        """What happens from now on: enter it, then say something, and nothing of the answer is missed.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        async with self._live.subscribe(conversation) as events:
            yield decoded(events)

    @asynccontextmanager
    async def showing(self, conversation: str, address: str) -> AsyncGenerator[Watcher]:
        """Where a turn shows itself; the viewers see its end by the answer."""
        yield self.watcher(conversation)

    def watcher(self, conversation: str) -> GatheringWatcher:
        """One watcher per conversation, so that words and their end stay in order."""
        watcher = self._watchers.get(conversation)
        if watcher is None:
            watcher = self._watchers[conversation] = GatheringWatcher(self._live, conversation)
        return watcher

    async def deliver(self, conversation: str, delivery: Delivery, still_ours: StillOurs) -> None:
        """Tell whoever watches. The committed history is the truth: an answer nobody sees is delivered too."""
        reply = delivery.reply
        await self.watcher(conversation).show(Answered(delivery.turn_id, reply.text, reply.failed, reply.note))

    def close(self) -> None:
        """End all event streams: a server that shuts down waits for its open responses."""
        self._closing.set()

    def routes(self) -> Sequence[BaseRoute]:
        """Messages in, history and live events out."""
        return (
            Route("/console/{id}", self._answering(self._history)),
            Route("/console/{id}/events", self._answering(self._events)),
            Route("/console/{id}/messages", self._answering(self._take), methods=["POST"]),
        )

    def _answering(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint, with what it raises made into an answer."""

        async def answer(request: Request) -> ASGIApp:
            try:
                if not ID.fullmatch(request.path_params["id"]):
                    return _error(404, self._sentence("bad_id", _languages(request)))
                return await endpoint(request)
            except BadInput as error:
                return _error(400, str(error))
            except StoreUnavailable:
                sentence = self._sentence("store_away", _languages(request))
                return _error(503, sentence, {"Retry-After": str(RETRY_AFTER_S)})

        return answer

    async def _history(self, request: Request) -> Response:
        """All entries, or those after the one the page has already: what is sent grows with what is new."""
        entries = _entries(await self._past(_conversation(request)))
        ids = [entry.id for entry in entries]
        after = request.query_params.get("after")
        first = ids.index(after) + 1 if after in ids else 0
        return _json({"messages": entries[first:], "whole": first == 0})

    async def _events(self, request: Request) -> ASGIApp:
        resources = AsyncExitStack()
        events = await resources.enter_async_context(self._live.subscribe(_conversation(request)))
        return EventStream(events, resources, self._closing)

    async def _take(self, request: Request) -> Response:
        languages = _languages(request)
        # Pages of other sites can send forms and plain text here, but no JSON without asking first.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _error(415, self._sentence("not_json", languages))
        body = await read_body(request, MAX_BODY)
        if body is None:
            return _error(413, self._sentence("too_long", languages))
        try:
            said = _decode_said(body)
        except (DecodeError, UnicodeDecodeError) as error:
            raise BadInput(self._sentence("not_json", languages)) from error
        locale = said.locale or languages.partition(",")[0]
        message_id = await self.say(
            _conversation(request), said.text, message_id=said.id, locale=locale, time_zone=said.time_zone
        )
        return _json({"id": message_id}, 202)

    def _sentence(self, key: str, languages: str) -> str:
        language = preferred_language(languages, self._language)
        return self._texts.get(f"console.{key}", language, limit=f"{MAX_CHARACTERS:,}")


class _Said(Struct):
    """What the page posts."""

    text: str
    id: str | None = None
    locale: str = ""
    time_zone: str = ""


class _Call(Struct):
    """A tool call as the page shows it; ``response`` is null while there is none."""

    id: str
    name: str
    arguments: dict[str, Any]
    response: dict[str, Any] | None = None
    is_error: bool = False


class _Entry(Struct):
    """A message of the user or the model, each call with its result."""

    id: str
    role: str
    at: int
    text: str
    calls: list[_Call]


_decode_said = Decoder(_Said).decode


def _entries(messages: Iterable[Message]) -> list[_Entry]:
    entries: list[_Entry] = []
    calls: dict[str, _Call] = {}
    for message in messages:
        for result in message.results:
            if call := calls.get(result.call_id):
                call.response, call.is_error = result.response, result.is_error
        if message.role != "tool":
            made = [_Call(call.id, call.name, call.arguments) for call in message.calls]
            calls |= {call.id: call for call in made}
            entries.append(_Entry(message.id, message.role, message.at, message.text, made))
    return entries


def _complaint(text: str) -> str:
    """Key of what is wrong with a text, or nothing."""
    if not any(character.isprintable() and not character.isspace() for character in text):
        return "empty"
    if len(text) > MAX_CHARACTERS:
        return "too_long"
    unfit = any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text)
    return "unprintable" if unfit else ""


def _zone(name: str) -> str:
    """The name where this system knows the zone: a device's list may be newer than ours."""
    try:
        return ZoneInfo(name).key if name else ""
    except (KeyError, ValueError, OSError):
        return ""


def _conversation(request: Request) -> str:
    return f"console:{request.path_params['id']}"


def _languages(request: Request) -> str:
    return request.headers.get("accept-language", "")


def _json(content: object, status: int = 200) -> Response:
    return Response(encode(content), status, {"Cache-Control": "no-store"}, "application/json")


def _error(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    response = _json({"error": sentence}, status)
    response.headers.update(headers or {})
    return response
