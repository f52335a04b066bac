"""The console's HTTP endpoints: what the page posts and uploads, and the history and live events it
reads."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from functools import partial
from typing import Annotated, NamedTuple, Protocol, TypeVar

from msgspec import DecodeError, Meta, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.channels import NO_FILES, ButtonCard, Files, Upload, Uploads
from bot.channels.console.entries import PICTURES, entries_of
from bot.channels.console.live import Live
from bot.errors import BadInput, KaiwaError, StoreUnavailable
from bot.file_types import MIB, MOST_BYTES, checked_type, kind_of, type_of
from bot.http import read_body
from bot.live_events import CardShown
from bot.safe_text.glyphs import safe_name
from bot.transcript import Media, Message, encode
from toolset.web.decoding import decode_json

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[ASGIApp]]

MAX_BODY = 64 * 1024
ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
RETRY_AFTER_S = 2
NO_STORE = {"Cache-Control": "no-store"}
MOST_ATTACHED = 4  # of one message
MOST_UPLOAD = 8 * MIB  # two of them fit the bundled Valkey's share for files
MOST_NAME = 255
PICTURE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=86400, immutable",
}


HEARTBEAT_S = 15.0  # proxies cut a connection that is silent for about a minute
STREAM_HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}  # nginx would buffer the events
COMMENT = b":\n\n"


class Refused(KaiwaError):
    """A refused request: the answer is a status and a sentence of the catalogue, which ``values``
    fill in."""

    def __init__(self, status: int, key: str, **values: object) -> None:
        self.status = status
        self.key = key
        self.values = values


async def read_upload(request: Request) -> Upload:
    """The file in a request's body; its name and type are in the query.

    Raises:
        Refused: it is too large, empty, damaged, or of a kind that is never read.
    """
    name = safe_name(request.query_params.get("name", "")[:MOST_NAME]) or "?"
    mime = type_of(request.query_params.get("name", ""), request.query_params.get("type", ""))
    if not mime:
        raise Refused(415, "file_unknown", name=name)
    most = min(MOST_BYTES[kind_of(mime)], MOST_UPLOAD)
    data = await read_body(request, most)
    if data is None:
        raise Refused(413, "file_too_large", name=name, megabytes=most // MIB)
    actual = checked_type(mime, data)
    if not actual:
        raise Refused(400, "file_damaged", name=name)
    return Upload(actual, data)


class PostedFile(Struct):
    """A file that was uploaded before its message."""

    ref: Annotated[str, Meta(pattern=f"^{ID.pattern}$")]
    mime: Annotated[str, Meta(max_length=MOST_NAME)]
    name: Annotated[str, Meta(max_length=MOST_NAME)] = ""
    size: Annotated[int, Meta(ge=0, le=MOST_UPLOAD)] = 0


class PostedMessage(Struct):
    """A message of the page, in place of an earlier one where ``replaces`` is the id of one."""

    text: str
    files: Annotated[list[PostedFile], Meta(max_length=MOST_ATTACHED)] = []
    id: str | None = None
    locale: str = ""
    time_zone: str = ""
    replaces: Annotated[str, Meta(pattern=f"^({ID.pattern})?$")] = ""


class PostedPress(Struct):
    """A pressed button, of a card or of the page itself."""

    action: Annotated[str, Meta(pattern=r"^[a-z_]{1,20}\.[a-z_]{1,20}$")]
    value: Annotated[str, Meta(pattern=r"^\S{0,200}$")] = ""


async def read_posted(request: Request, kind: type[T], complaint: str) -> T:
    """The body of a request.

    Args:
        complaint: key of the sentence that says what to send.
    """
    # Pages of other sites can post forms and plain text here; JSON needs a CORS preflight, which
    # fails.
    content_type = request.headers.get("content-type", "").partition(";")[0]
    if content_type.strip().lower() != "application/json":
        raise Refused(415, complaint)
    body = await read_body(request, MAX_BODY)
    if body is None:
        raise Refused(413, "too_long")
    try:
        return decode_json(body, kind, mends=False)
    except DecodeError as error:
        raise Refused(400, complaint) from error


ReadTitle = Callable[[str, str], str]
ReadCards = Callable[[str, Sequence[Message]], Awaitable[Sequence[ButtonCard]]]


def _no_title(name: str, language: str) -> str:
    return ""


async def _no_cards(*_: object) -> Sequence[ButtonCard]:
    return ()


class Reads(NamedTuple):
    """What the console reads.

    Attributes:
        history: the committed messages of a conversation, oldest first.
        cards: that a conversation keeps or waits for, and others that were shown with these
            messages of it.
        files: of tool calls.
        title: of a tool, by its name and a language; empty without one.
    """

    history: Callable[[str], Awaitable[Sequence[Message]]]
    cards: ReadCards = _no_cards
    files: Files = NO_FILES
    title: ReadTitle = _no_title


class ConsoleActions(Protocol):
    """The part of ``bot.channels.console.channel.Console`` that the endpoints use."""

    async def say(
        self,
        conversation: str,
        text: str,
        *,
        files: Sequence[Media],
        message_id: str | None,
        locale: str,
        time_zone: str,
        replaces: str,
    ) -> str: ...

    async def cards(self, conversation: str, messages: Sequence[Message]) -> list[CardShown]: ...

    async def press(self, conversation: str, action: str, value: str, *, locale: str) -> None: ...

    def tool_title(self, name: str, languages: str) -> str: ...

    def sentence(self, key: str, languages: str, **values: object) -> str: ...


class Endpoints:
    """The endpoints of the page.

    Args:
        closing: once set, the event streams end.
    """

    def __init__(
        self,
        console: ConsoleActions,
        live: Live,
        reads: Reads,
        uploads: Uploads,
        closing: asyncio.Event,
    ) -> None:
        self._console = console
        self._live = live
        self._reads = reads
        self._uploads = uploads
        self._closing = closing

    def routes(self) -> Sequence[BaseRoute]:
        """Messages and presses in; history and live events out."""
        return (
            Route("/console/{id}", self._answer_errors(self._history)),
            Route("/console/{id}/events", self._answer_errors(self._events)),
            Route("/console/{id}/messages", self._answer_errors(self._take), methods=["POST"]),
            Route("/console/{id}/actions", self._answer_errors(self._press), methods=["POST"]),
            Route("/console/{id}/files/{ref}", self._answer_errors(self._upload), methods=["PUT"]),
            Route("/console/{id}/files/{ref}", self._answer_errors(self._picture)),
        )

    def _answer_errors(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint; its exceptions become responses."""

        async def answer(request: Request) -> ASGIApp:
            languages = _languages(request)
            try:
                if not all(map(ID.fullmatch, request.path_params.values())):
                    raise Refused(404, "bad_id")
                return await endpoint(request)
            except Refused as refused:
                status = refused.status
                sentence = self._console.sentence(refused.key, languages, **refused.values)
            except BadInput as error:
                status, sentence = 400, str(error)
            except StoreUnavailable:
                status, sentence = 503, self._console.sentence("store_away", languages)
            response = _json({"error": sentence}, status)
            if status == 503:
                response.headers["Retry-After"] = str(RETRY_AFTER_S)
            return response

        return answer

    async def _history(self, request: Request) -> Response:
        """All entries, or those after the newest entry of the page (``after``)."""
        conversation = _conversation(request)
        messages = await self._reads.history(conversation)
        cards = await self._console.cards(conversation, messages)
        title = partial(self._console.tool_title, languages=_languages(request))
        entries = await entries_of(conversation, messages, self._reads.files, title)
        ids = [entry.id for entry in entries]
        after = request.query_params.get("after")
        first = ids.index(after) + 1 if after in ids else 0
        return _json({"messages": entries[first:], "whole": first == 0, "cards": cards})

    async def _events(self, request: Request) -> ASGIApp:
        resources = AsyncExitStack()
        events = await resources.enter_async_context(self._live.subscribe(_conversation(request)))
        return EventStream(events, resources, self._closing)

    async def _take(self, request: Request) -> Response:
        message = await read_posted(request, PostedMessage, "not_json")
        locale = message.locale or _languages(request).partition(",")[0]
        message_id = await self._console.say(
            _conversation(request),
            message.text,
            files=[Media(file.ref, file.mime, file.size, name=file.name) for file in message.files],
            message_id=message.id,
            locale=locale,
            time_zone=message.time_zone,
            replaces=message.replaces,
        )
        return _json({"id": message_id}, 202)

    async def _upload(self, request: Request) -> Response:
        """Store a file for a message that will name it. Pages of other sites cannot send a PUT."""
        upload = await read_upload(request)
        await self._uploads.keep(_conversation(request), request.path_params["ref"], upload)
        return _json({"mime": upload.mime, "size": len(upload.data)}, 201)

    async def _picture(self, request: Request) -> Response:
        """A picture; the page shows no other file."""
        upload = await self._uploads.read(_conversation(request), request.path_params["ref"])
        if upload is None or upload.mime not in PICTURES:
            return Response(status_code=404, headers=NO_STORE)
        return Response(upload.data, headers=PICTURE_HEADERS, media_type=upload.mime)

    async def _press(self, request: Request) -> Response:
        press = await read_posted(request, PostedPress, "no_press")
        locale = _languages(request).partition(",")[0]
        conversation = _conversation(request)
        await self._console.press(conversation, press.action, press.value, locale=locale)
        return _json({}, 202)


def _conversation(request: Request) -> str:
    return f"console:{request.path_params['id']}"


def _languages(request: Request) -> str:
    return request.headers.get("accept-language", "")


def _json(content: object, status: int = 200) -> Response:
    return Response(encode(content), status, NO_STORE, "application/json")


class EventStream:
    """A response (an ASGI application) with one ``data:`` line per event.

    Args:
        events: JSON without line breaks.
        resources: closed when the response ends, for whatever reason.
        closing: once set, the stream ends; a server that shuts down waits for its open responses.
    """

    def __init__(
        self,
        events: AsyncIterator[bytes],
        resources: AsyncExitStack,
        closing: asyncio.Event,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._events = events
        self._resources = resources
        self._closing = closing
        self._heartbeat_s = heartbeat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(StoreUnavailable):  # closing the resources may raise it, and nobody reads on
            async with self._resources, aclosing(self._frames()) as frames:
                response = StreamingResponse(
                    frames, media_type="text/event-stream", headers=STREAM_HEADERS
                )
                await response(scope, receive, send)

    async def _frames(self) -> AsyncGenerator[bytes]:
        yield COMMENT  # the headers go out at once
        closing = asyncio.ensure_future(self._closing.wait())
        coming = asyncio.ensure_future(anext(self._events, None))
        try:
            while True:
                await asyncio.wait(
                    {closing, coming},
                    timeout=self._heartbeat_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if closing.done():
                    return
                if not coming.done():
                    yield COMMENT
                elif (event := coming.result()) is None:
                    return
                else:
                    yield b"data: " + event + b"\n\n"
                    coming = asyncio.ensure_future(anext(self._events, None))
        except StoreUnavailable:
            return  # the page reconnects, and then reads the history
        finally:
            closing.cancel()
            coming.cancel()
            await asyncio.gather(closing, coming, return_exceptions=True)
