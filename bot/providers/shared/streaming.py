"""From the bytes of a response to the events of an answer, in time and within limits of size; what
the answers of all vendors share.

The bytes are read past the SDKs: their own models take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from msgspec import DecodeError

from bot.clock import now_ms
from bot.providers import (
    TOKEN_BYTES,
    Completed,
    ModelResponse,
    Request,
    Restarted,
    StopReason,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    model_message,
)
from bot.providers.retry_policy import LAST_BYTES_TIMEOUT_S
from bot.providers.shared.entry import Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import estimate_tokens
from bot.telemetry.observed import OBSERVER, ResponseRead
from bot.transcript import (
    NOT_GROUNDED,
    Grounding,
    Message,
    Opaque,
    Text,
    ToolCall,
    Usage,
    encode,
    is_blank,
    new_id,
)
from toolset.web.decoding import decode_json

# A response has so many bytes at most: a hundred times the longest answer, thoughts included.
STREAM_CAP = 16 * 1024 * 1024
# The last event of most servers of OpenAI's form.
DONE = b"[DONE]"
USUAL = ("end_turn", "tool_use")
# A conversation keeps about so many bytes.
LONGEST_OPAQUE = 1024 * 1024

T = TypeVar("T")
Pieces = AsyncIterable[bytes]
# A response, which is closed at its end, and the pieces of its body.
Opened = tuple[AbstractAsyncContextManager[Any], Pieces]


class StreamTooLong(Exception):
    """A response has more than ``STREAM_CAP`` bytes; the rest is not read."""


def event_decoder(kind: type[T], has_calls: Callable[[T], bool]) -> Callable[[bytes], T]:
    """A decoder of events that takes half a surrogate pair in a text as U+FFFD.

    An event with calls is refused instead: nothing is run with arguments that the model did not
    write.

    Raises:
        DecodeError: the decoder, for anything else than an event.
    """

    def read(data: bytes) -> T:
        try:
            return decode_json(data, kind, mends=False)
        except DecodeError as error:
            event = decode_json(data, kind)
            if has_calls(event):
                raise DecodeError("a call holds characters that do not exist") from error
            return event

    return read


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    vendor_id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Whether the arguments are complete; they are decoded only where their last character
        allows it."""
        last = next(filter(None, map(str.rstrip, reversed(self.pieces))), "")
        return last.endswith(("}", '"', "l")) and _object(self.arguments) is not None


class Calls:
    """The calls of one answer, joined from the pieces of a stream.

    Vendors send pieces interleaved or whole, with ids, empty ids or none, numbered or not, and
    arguments as a JSON string or as an object. Every call gets an id that is unique in its
    conversation.

    Args:
        messages: the conversation so far, whose ids are not given again.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._taken = {call.id for message in messages for call in message.calls}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def take(
        self,
        index: int | None,
        id: str | None,
        name: str | None,
        arguments: str | dict[str, Any] | None,
    ) -> ToolCallDelta:
        """Add one piece and return what is new in it.

        Args:
            index: the vendor's number of the call; None is the newest call, or the next one where a
                name is given.
            arguments: more of the JSON, or the whole object.
        """
        if isinstance(arguments, dict):
            arguments = encode(arguments).decode()
        text, new = arguments or "", ""
        call = self._find(index, id or "", name or "")
        if call is None:
            call = self._begin(index, id or "")
            new = call.id
        named = name if name and not call.name else ""
        call.name = call.name or named
        call.pieces.append(text)
        return ToolCallDelta(call.index, new, named, text)

    def whole(self) -> tuple[ToolCall, ...] | None:
        """The calls in the order they began; None where the name or the arguments of one cannot be
        read."""
        calls = []
        for call in self._calls:
            arguments = _object(call.arguments)
            if not call.name or arguments is None:
                return None
            calls.append(ToolCall(call.id, call.name, arguments))
        return tuple(calls)

    def _find(self, index: int | None, vendor_id: str, name: str) -> _Call | None:
        """The call that a piece belongs to; some servers give every call of an answer the same
        number."""
        if index is None:
            return self._calls[-1] if self._calls and not name else None
        call = self._by_index.get(index)
        if call is None or not (name and call.name):
            return call
        is_other = call.is_whole()
        if vendor_id and call.vendor_id:
            is_other = vendor_id != call.vendor_id
        return None if is_other else call

    def _begin(self, index: int | None, vendor_id: str) -> _Call:
        unique = vendor_id if vendor_id and vendor_id not in self._taken else new_id("call")
        self._taken.add(unique)
        call = _Call(len(self._calls), unique, vendor_id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _object(text: str) -> dict[str, Any] | None:
    """Arguments as an object, empty for none at all; some models encode them twice."""
    read: Any = text.strip()
    try:
        for _ in range(2):
            if isinstance(read, str):
                read = decode_json(read, mends=False) if read else {}
    except DecodeError:
        return None
    if read is None:
        return {}
    return read if isinstance(read, dict) else None


def settled(parts: Sequence[Text | ToolCall], reason: StopReason) -> StopReason:
    """The reason as it follows from the parts."""
    if reason not in USUAL:
        return reason
    if any(isinstance(part, ToolCall) for part in parts):
        return "tool_use"
    has_words = any(isinstance(part, Text) and not is_blank(part.text) for part in parts)
    return "end_turn" if has_words else "malformed"


def build_response(
    parts: Sequence[Text | ToolCall],
    reason: StopReason,
    *,
    model: str,
    usage: Usage,
    opaque: Opaque | None = None,
    detail: str = "",
    grounding: Grounding = NOT_GROUNDED,
    searches: int = 0,
    refusal: str = "",
) -> ModelResponse:
    """A finished answer.

    Only a complete answer keeps its calls: those of a cut or blocked one are never run. An answer
    without text and calls is malformed. ``end_turn`` and ``tool_use`` follow from the parts.

    Args:
        opaque: left out where it is too large; then the message goes back like another vendor's.
        parts: texts and calls in the vendor's order; adjacent texts are joined.
        detail: the vendor's words about an unusual stop.
    """
    reason = settled(parts, reason)
    if reason in USUAL:
        detail = ""
    if reason != "tool_use":
        parts = [part for part in parts if isinstance(part, Text)]
    whole: list[Text | ToolCall] = []
    for kind, group in groupby(parts, type):
        if kind is not Text:
            whole += group
        elif words := "".join(part.text for part in group if isinstance(part, Text)):
            whole.append(Text(words))
    if opaque is not None and len(opaque.data) > LONGEST_OPAQUE:
        opaque = None
    message = Message(new_id("msg"), "model", tuple(whole), now_ms(), opaque=opaque)
    return ModelResponse(message, reason, usage, model, detail, grounding, searches, refusal)


class Answer(ABC):
    """One answer while it is read; the ``response.py`` of every vendor has one.

    Args:
        asked: the model that was asked (an attribute too); it gets its own opaque data back.
        messages: the conversation so far, whose ids of calls are not given again.
        may_call: whether calls are kept; small servers ignore the tool choice.

    Attributes:
        stop_reasons: by the vendor's words.
        refusal: see ``ModelResponse``.
    """

    stop_reasons: Mapping[str, StopReason]

    def __init__(
        self,
        asked: str,
        failures: Failures,
        messages: Iterable[Message] = (),
        *,
        may_call: bool = True,
    ) -> None:
        self.asked = self._model = asked
        self._failures = failures
        self._may_call = may_call
        self._calls = Calls(messages)
        self._texts: list[str] = []
        self._finish = ""
        self._usage = Usage()
        self._grounding = NOT_GROUNDED
        self._searches = 0
        self.refusal = ""

    @abstractmethod
    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer.

        Raises:
            ModelError: the event is an error that came after the 200.
            DecodeError: the event is not in the vendor's form.
        """

    def response(self) -> ModelResponse:
        """The whole answer, once the stream has ended.

        Raises:
            TryAgain: the stream broke off.
        """
        if not self._finish:
            raise self._failures.broken_off()
        calls, reason = self._calls.whole(), self._stop_reason()
        if calls is None and reason in USUAL:
            reason = "malformed"
        parts = list(self._parts(calls or ()))
        return build_response(
            parts,
            reason,
            model=self._model,
            usage=self._usage,
            opaque=self._opaque(parts, settled(parts, reason)),
            detail=self._detail(),
            grounding=self._grounding,
            searches=self._searches,
            refusal=self.refusal,
        )

    def _stop_reason(self) -> StopReason:
        return self.stop_reasons.get(self._finish, "other")

    def _parts(self, calls: Sequence[ToolCall]) -> Iterable[Text | ToolCall]:
        """The texts and calls in the vendor's order."""
        return [Text("".join(self._texts)), *calls]

    @abstractmethod
    def _opaque(self, parts: Sequence[Text | ToolCall], reason: StopReason) -> Opaque | None:
        """What the vendor gets back of this answer beside or in place of its parts."""

    def _detail(self) -> str:
        return self._finish


AnswerT = TypeVar("AnswerT", bound=Answer)


@contextmanager
def translating(failures: Failures) -> Iterator[None]:
    """Raise the exceptions of vendor, SDK and network as ``ModelError``; none holds the key."""
    try:
        yield
    except failures.refusals as error:
        # The error is not chained: the service may quote the key.
        raise failures.refused(error) from None
    except (*failures.outages, *failures.unreadable) as error:
        raise failures.failed(error) from error


async def events_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; comments, which keep a connection alive, are skipped.

    A body of plain JSON is one event: some servers send an error that way.

    Raises:
        StreamTooLong: the body has more than ``STREAM_CAP`` bytes.
    """
    block: list[bytes] = []
    async with aclosing(lines_of(pieces)) as lines:
        async for line in lines:
            if line not in (b"", b"\r"):
                block.append(line)
                continue
            if data := _data(block):
                yield data
            block = []
    if data := _data(block):
        yield data


async def lines_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The lines without their line feeds. Each byte is read once, however the network cuts the
    stream.

    Raises:
        StreamTooLong: the body has more than ``STREAM_CAP`` bytes.
    """
    size = 0
    unfinished = bytearray()
    async for piece in pieces:
        size += len(piece)
        if size > STREAM_CAP:
            raise StreamTooLong
        *lines, rest = piece.split(b"\n")
        for line in lines:
            unfinished += line
            yield bytes(unfinished)
            unfinished.clear()
        unfinished += rest
    yield bytes(unfinished)


def _data(block: list[bytes]) -> bytes:
    if not (block and block[0].lstrip().startswith(b"{")):
        block = [line[5:].strip() for line in block if line.startswith(b"data:")]
    return b"\n".join(block)


async def stream_answer(
    send: Callable[[Request, AnswerT], Awaitable[Opened]],
    request: Request,
    answer: AnswerT,
    failures: Failures,
    options: Options,
    events_in: Callable[[Pieces], AsyncGenerator[bytes]] = events_of,
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer within two time limits: one for the first event, one for all.

    Args:
        events_in: finds the events in a body.

    Raises:
        ModelError: no answer, or an answer that broke off.
    """
    observe, read = OBSERVER.get(), list[bytes]()
    started = asyncio.get_running_loop().time()
    deadline = started + min(request.first_token_timeout_s, options.request_timeout_s)
    with translating(failures):
        async with asyncio.timeout_at(deadline):
            response, pieces = await send(request, answer)
        async with response, aclosing(events_in(pieces)) as events:
            while True:
                async with asyncio.timeout_at(deadline):
                    event = await anext(events, None)
                if event is None:
                    break
                if observe:
                    read.append(event)
                for delta in answer.take(event):
                    yield delta
                deadline = started + options.request_timeout_s
                if event == DONE:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LAST_BYTES_TIMEOUT_S):
                            await anext(events, None)
                    break
    whole = answer.response()
    if observe:
        about = (whole.message, whole.stop_reason, whole.usage, whole.detail, answer.asked)
        observe(ResponseRead(whole.model, tuple(read), *about))
    yield Completed(whole)


# An answer has so many characters at most: eight messages in Slack.
TEXT_CAP = 100_000
# All calls of an answer have so many characters together at most: twice the largest file that a
# tool writes.
CALLS_CAP = 1024 * 1024
# Every call counts so many characters more, however short it is.
CALL_COSTS = 1_000


async def cap_answer(
    events: AsyncGenerator[StreamEvent], model: str, asked: Sequence[Message], most: int = TEXT_CAP
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer; an answer beyond the cap ends there, as if the model had used up
    its tokens.

    A capped answer keeps no calls, and its usage is estimated, as vendors count at the end.

    Args:
        asked: the messages of the request.
        most: characters of the text.
    """
    words: list[str] = []
    left, left_for_calls = most, CALLS_CAP
    async with aclosing(events):
        try:
            async for event in events:
                match event:
                    case TextDelta(text):
                        words.append(text[:left])
                        left -= len(text)
                    case ToolCallDelta(_, call_id, name, arguments):
                        left_for_calls -= len(name) + len(arguments)
                        if call_id:
                            left_for_calls -= CALL_COSTS
                    case Restarted():
                        words, left, left_for_calls = [], most, CALLS_CAP
                if left_for_calls < 0:
                    break
                if left < 0:
                    if words[-1]:
                        yield TextDelta(words[-1])
                    break
                yield event
            else:
                return
        except StreamTooLong:
            pass
    text = "".join(words)
    message = model_message([Text(text)] if text else [])
    written = len(text.encode(errors="replace")) // TOKEN_BYTES
    usage = Usage(input=estimate_tokens(asked), output=written)
    yield Completed(ModelResponse(message, "max_tokens", usage, model, "longer than anybody reads"))
