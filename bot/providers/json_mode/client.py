"""Tools for models without function calling: the model writes every answer as one JSON object by a
schema.

``request.py`` writes the instructions and the schema; ``response.py`` reads the object, and its
reply while the object is being written. Users never see the object.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from bot.providers import (
    Completed,
    MediaSupport,
    ModelResponse,
    Provider,
    Request,
    Restarted,
    StreamEvent,
    TextDelta,
)
from bot.providers.json_mode.request import conversation, instructions, repair, schema_of
from bot.providers.json_mode.response import GrowingReply, Reading, looks_like_json, read
from bot.providers.shared.streaming import CALLS_CAP, TEXT_CAP, Calls, build_response, cap_answer
from bot.transcript import Message, Opaque, Text, Usage

PROVIDER = "json"
THOUGHT_CAP = 2_000  # characters
# The object holds the text and the calls, so it has as many characters as both.
LONGEST = TEXT_CAP + CALLS_CAP
MOST_TRIES = 2


@dataclass(slots=True)
class _Try:
    """One request: its response, the text that was shown of it, and what it says."""

    response: ModelResponse
    shown: str
    reading: Reading | None = None

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

    Args:
        writer: writes JSON by the schema of a request.
    """

    name = PROVIDER
    searches = False

    def __init__(self, writer: Provider) -> None:
        self.model = writer.model
        self.window = writer.window
        self._writer = writer

    @property
    def media(self) -> MediaSupport:
        """What the model behind it reads."""
        return self._writer.media

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once, and once more after an unreadable answer; raises as the Protocol says."""
        tools, choice = request.tools, request.tool_choice
        may_call = bool(tools) and choice.mode != "none"
        asked = Request(
            instructions(request.system, tools),
            conversation(request.messages),
            first_token_timeout_s=request.first_token_timeout_s,
            schema=schema_of(tools, choice),
        )
        tries: list[_Try] = []
        while len(tries) < MOST_TRIES and not (tries and tries[0].is_usable):
            if tries:
                if tries[0].shown:
                    yield Restarted()
                repairs = repair(tries[0].response.message.text, cut=tries[0].is_cut)
                messages = [*asked.messages, *repairs]
                asked = Request(asked.system, messages, schema=asked.schema)
            written = cap_answer(self._writer.stream(asked), self.model, asked.messages, LONGEST)
            growing = GrowingReply()
            async with aclosing(written) as events:
                async for event in events:
                    if isinstance(event, TextDelta) and (more := growing.take(event.text)):
                        yield TextDelta(more)
                    elif isinstance(event, Completed):
                        one = _Try(event.response, growing.shown)
                        if not one.is_cut:
                            one.reading = read(one.response.message.text, may_call)
                        tries.append(one)
        for event in _ending(tries, request.messages):
            yield event

    async def check(self) -> str:
        """Check the writer."""
        return await self._writer.check()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._writer.aclose()


def _ending(tries: Sequence[_Try], messages: Sequence[Message]) -> list[StreamEvent]:
    """The events after the last request: the rest of the reply, the calls, the response.

    A cut answer has the reply that was shown, an unreadable one its text unless that is JSON. No
    later request holds what the model thought, which is kept with its message.
    """
    last = tries[-1]
    response, shown, reading = last.response, last.shown, last.reading
    reply, opaque, calls = shown, None, Calls(messages)
    deltas: list[StreamEvent] = []
    if reading is not None:
        reply = reading.reply
        deltas += [calls.take(None, "", name, arguments) for name, arguments in reading.calls]
        if thought := reading.thought.strip():
            opaque = Opaque(PROVIDER, response.model, thought[:THOUGHT_CAP].encode())
    elif not (last.is_cut or looks_like_json(response.message.text)):
        reply = response.message.text
    rest = reply.removeprefix(shown)
    events: list[StreamEvent] = []
    if not reply.startswith(shown):
        events.append(Restarted())
    if rest:
        events.append(TextDelta(rest))
    whole = build_response(
        [Text(reply), *(calls.whole() or ())],
        "end_turn" if reading else response.stop_reason,
        model=response.model,
        usage=sum((one.response.usage for one in tries), Usage()),
        opaque=opaque,
        detail=response.detail or "not the JSON that was asked for",
    )
    return [*events, *deltas, Completed(whole)]
