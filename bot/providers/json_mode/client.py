"""Tools for models without function calling: the model writes every answer as one JSON object by a
schema.

``request.py`` writes the instructions and the schema; ``response.py`` reads the object, and its
reply while the object is being written. Users never see the object.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from bot.providers import (
    AUTO,
    Completed,
    MediaSupport,
    ModelResponse,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from bot.providers.json_mode.request import conversation, instructions, repair, schema_of
from bot.providers.json_mode.response import GrowingReply, Reading, looks_like_json, read
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.response import Calls, build_response
from bot.providers.shared.streaming import CALLS_CAP, TEXT_CAP, cap_answer
from bot.transcript import Message, Opaque, Text, ToolCall, Usage
from toolset.tool import ToolDefinition

PROVIDER = "json"
THOUGHT_CAP = 2_000  # characters
# The object holds the text and the calls, so it has as many characters as both.
LONGEST = TEXT_CAP + CALLS_CAP


class Writer(Protocol):
    """A model that writes JSON by a schema.

    Attributes:
        model: the model's id.
        window, media: see ``Provider``.
    """

    model: str

    @property
    def window(self) -> int: ...

    @property
    def media(self) -> MediaSupport: ...

    def write(
        self,
        system: str,
        messages: Sequence[Message],
        schema: dict[str, Any],
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; the JSON comes as text.

        Raises:
            ModelError: no answer, or one that broke off.
        """
        ...

    async def check(self) -> str:
        """Ask whether key and model work."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(slots=True)
class _Try:
    """One request: its response, the text that was shown of it, and what it says."""

    response: ModelResponse
    shown: str
    reading: Reading | None

    @property
    def is_cut(self) -> bool:
        return self.response.stop_reason == "max_tokens"

    @property
    def is_usable(self) -> bool:
        """Whether no second request is made: the answer is readable, or it was blocked."""
        return self.reading is not None or self.response.stop_reason == "blocked"


class JsonMode:
    """A model that writes JSON in place of calls.

    An unreadable or cut answer is requested once more. A second unreadable answer is plain text,
    unless it is JSON in pieces.
    """

    name = PROVIDER
    searches = False

    def __init__(self, writer: Writer) -> None:
        self.model = writer.model
        self.window = writer.window
        self._writer = writer

    @property
    def media(self) -> MediaSupport:
        """What the model behind it reads."""
        return self._writer.media

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once, and once more after an unreadable answer; raises as the Protocol says."""
        prompt, asked, schema = (
            instructions(system, tools),
            conversation(messages),
            schema_of(tools, tool_choice),
        )
        may_call = bool(tools) and tool_choice.mode != "none"
        tries: list[_Try] = []
        for timeout_s in (first_token_timeout_s, FIRST_TOKEN_TIMEOUT_S):
            if tries and tries[0].shown:
                yield Restarted()
            if tries:
                asked = [*asked, *repair(tries[0].response.message.text, cut=tries[0].is_cut)]
            written = cap_answer(
                self._writer.write(prompt, asked, schema, timeout_s), self.model, asked, LONGEST
            )
            async with aclosing(_stream_reply(written, may_call, tries)) as events:
                async for event in events:
                    yield event
            if tries[0].is_usable:
                break
        for event in _ending(tries, messages):
            yield event

    async def check(self) -> str:
        """Check the writer."""
        return await self._writer.check()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._writer.aclose()


async def _stream_reply(
    written: AsyncGenerator[StreamEvent], may_call: bool, tries: list[_Try]
) -> AsyncGenerator[StreamEvent]:
    """The reply of one answer while it is written; the whole answer is added to ``tries``."""
    growing = GrowingReply()
    async with aclosing(written) as events:
        async for event in events:
            if isinstance(event, TextDelta) and (more := growing.take(event.text)):
                yield TextDelta(more)
            elif isinstance(event, Completed):
                response = event.response
                cut = response.stop_reason == "max_tokens"
                reading = None
                if not cut:
                    reading = read(response.message.text, may_call)
                tries.append(_Try(response, growing.shown, reading))


def _ending(tries: Sequence[_Try], messages: Sequence[Message]) -> list[StreamEvent]:
    """The events after the last request: the rest of the reply, the calls, the response."""
    last = tries[-1]
    reply = _reply(last)
    calls = _calls(last.reading, messages)
    events: list[StreamEvent] = []
    if last.shown and not reply.startswith(last.shown):
        events.append(Restarted())
        if reply:
            events.append(TextDelta(reply))
    elif reply != last.shown:
        events.append(TextDelta(reply[len(last.shown) :]))
    events += [delta for delta, _ in calls]
    parts: list[Text | ToolCall] = [Text(reply), *(call for _, call in calls)]
    reason = last.response.stop_reason
    response = build_response(
        parts,
        "end_turn" if last.reading else reason,
        model=last.response.model,
        usage=sum((one.response.usage for one in tries), Usage()),
        opaque=_thought(last),
        detail=last.response.detail or "not the JSON that was asked for",
    )
    return [*events, Completed(response)]


def _thought(last: _Try) -> Opaque | None:
    """What the model thought, kept with its message; no later request holds it."""
    if last.reading is None or not (thought := last.reading.thought.strip()):
        return None
    return Opaque(PROVIDER, last.response.model, thought[:THOUGHT_CAP].encode())


def _reply(last: _Try) -> str:
    """The text for the user: of a cut answer the shown text, of an unreadable one its text unless
    that is JSON."""
    if last.reading is not None:
        return last.reading.reply
    text = last.response.message.text
    if last.is_cut or looks_like_json(text):
        return last.shown
    return text


def _calls(
    reading: Reading | None, messages: Sequence[Message]
) -> list[tuple[ToolCallDelta, ToolCall]]:
    if reading is None:
        return []
    calls = Calls(messages)
    deltas = [calls.take(None, "", name, arguments) for name, arguments in reading.calls]
    return list(zip(deltas, calls.whole() or (), strict=True))
