"""A provider for tests: it plays scripted answers and keeps the requests it gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from bot.errors import TryAgain
from bot.providers import (
    Completed,
    MediaSupport,
    ModelResponse,
    Request,
    StopReason,
    StreamEvent,
    model_message,
    replay,
)
from bot.telemetry.observed import OBSERVER, RequestSent, ResponseRead
from bot.transcript import (
    NOT_GROUNDED,
    Grounding,
    Message,
    Opaque,
    Text,
    ToolCall,
    Usage,
    encode,
    new_id,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the script.

    Attributes:
        calls: a call with an empty id gets a fresh one.
        stop_reason: empty: ``tool_use`` beside calls, else ``end_turn``.
        before: events streamed first, such as words and the ``Restarted`` that voids them.
        error: raised where the stream would have been completed, after ``text``.
        gate: the stream waits until it is set, after ``gate_after`` events.
        at_gate: set when the stream reaches its gate.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop_reason: StopReason | None = None
    usage: Usage = field(default_factory=Usage)
    detail: str = ""
    opaque: Opaque | None = None
    grounding: Grounding = NOT_GROUNDED
    searches: int = 0
    refusal: str = ""
    before: tuple[StreamEvent, ...] = ()
    error: Exception | None = None
    gate: asyncio.Event | None = None
    gate_after: int = 0
    at_gate: asyncio.Event = field(default_factory=asyncio.Event)


ScriptedAnswer = Step | Callable[[Sequence[Message]], Step]


class ScriptEnded(Exception):
    """More requests came than the script has steps."""


class Scripted:
    """Plays steps in order, one for each request.

    Args:
        steps: answers, or functions that make an answer from the messages.

    Attributes:
        requests: all requests so far, oldest first.
        media: the files that it reads.
        searches: whether its vendor may search.
    """

    def __init__(
        self,
        steps: Iterable[ScriptedAnswer],
        name: str = "scripted",
        model: str = "scripted",
        window: int = 0,
    ) -> None:
        self.name = name
        self.model = model
        self.window = window
        self.searches = False
        self.media = MediaSupport(frozenset(("image", "audio", "video", "pdf")))
        self.requests: list[Request] = []
        self._steps = list(steps)

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Play the next step.

        Raises:
            ScriptEnded: no step is left.
            TryAgain: a gate before all events did not open in time.
        """
        kept = replace(request, messages=tuple(request.messages), tools=tuple(request.tools))
        self.requests.append(kept)
        number = len(self.requests)
        if number > len(self._steps):
            raise ScriptEnded(f"request {number} came, but the script has {len(self._steps)} steps")
        if observe := OBSERVER.get():
            observe(RequestSent(self.model, (encode([request.system, request.messages]),)))
        step = self._steps[number - 1]
        if not isinstance(step, Step):
            step = step(request.messages)
        for place, event in enumerate(self._events(step)):
            if place == step.gate_after:
                await _pass_gate(step, None if place else request.first_token_timeout_s)
            if isinstance(event, Completed):
                if step.error is not None:
                    raise step.error
                if observe:
                    observe(_read(event.response))
            yield event

    async def check(self) -> str:
        """Always fine: there is no network."""
        return "scripted: plays the steps it was given"

    async def aclose(self) -> None:
        """Nothing: there are no connections."""

    def _events(self, step: Step) -> list[StreamEvent]:
        calls = [
            ToolCall(call.id or new_id("call"), call.name, call.arguments) for call in step.calls
        ]
        words = [Text(step.text)] if step.text else []
        response = ModelResponse(
            model_message([*words, *calls], step.opaque),
            step.stop_reason or ("tool_use" if calls else "end_turn"),
            step.usage,
            self.model,
            step.detail,
            step.grounding,
            step.searches,
            step.refusal,
        )
        return [*step.before, *replay(response)]


async def _pass_gate(step: Step, first_token_timeout_s: float | None) -> None:
    step.at_gate.set()
    if step.gate is not None:
        try:
            async with asyncio.timeout(first_token_timeout_s):
                await step.gate.wait()
        except TimeoutError as error:
            raise TryAgain("timed_out", "scripted did not answer in time") from error


def _read(response: ModelResponse) -> ResponseRead:
    message, reason, usage = response.message, response.stop_reason, response.usage
    return ResponseRead(response.model, (encode(message),), message, reason, usage)
