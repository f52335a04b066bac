"""The model of the transcripts: the demo model with rules for what it cannot know."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.providers import (
    Completed,
    MediaSupport,
    ModelResponse,
    Request,
    StreamEvent,
)
from bot.providers.demo.client import Demo
from bot.providers.scripted import Scripted, Step
from bot.texts import load
from bot.transcript import Media, Message, ToolCall

Wait = Callable[[str], Awaitable[None]]
"""Returns when people see what is named: ``thinking``, a tool, or ``text`` (an answer under
way)."""

FILES = MediaSupport(frozenset(("image", "audio", "video", "pdf")))


@dataclass(frozen=True, slots=True)
class Rule:
    """The answer to a request.

    Attributes:
        words: in the newest message.
        call: a tool and its arguments, before the answer.
        refused: the answer if somebody rejects the call.
        needs: what the request must also hold: words of any message, or a file's content.
    """

    words: str
    answer: str
    call: tuple[str, dict[str, Any]] | None = None
    refused: str = ""
    needs: str | bytes = ""

    def fits(self, messages: Sequence[Message]) -> bool:
        """Whether the rule is for this request."""
        asked = next(
            message
            for message in reversed(messages)
            if message.role == "user" and not message.results
        )
        return self.words in asked.text and _holds(messages, self.needs)

    def step(self, newest: Message) -> Step:
        """The call first; after its result the words."""
        if self.call and not newest.results:
            return Step(calls=(ToolCall("", *self.call),))
        return Step(
            self.refused if newest.results and newest.results[0].is_rejected else self.answer
        )


class Model(Demo):
    """The demo model with rules; it goes on when people have seen the step before.

    Its name is another one: the demo model cannot translate.
    """

    name = model = "rules"

    def __init__(self, rules: Sequence[Rule], wait: Wait, media: MediaSupport) -> None:
        super().__init__(load())
        self.media = media
        self._rules = rules
        self._wait = wait

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Answer by the first rule that fits, else like the demo."""
        await self._wait("thinking")
        rule = next((rule for rule in self._rules if rule.fits(request.messages)), None)
        step = rule and rule.step(request.messages[-1])
        source = Scripted([step]).stream if step else super().stream
        async for event in source(request):
            if isinstance(event, Completed) and _is_long(event.response):
                await self._wait("text")
            yield event


def _holds(messages: Sequence[Message], needed: str | bytes) -> bool:
    if isinstance(needed, str):
        return any(needed in f"{message.preface}\n{message.text}" for message in messages)
    files = (
        part.data or b""
        for message in messages
        for part in message.parts
        if isinstance(part, Media)
    )
    return any(needed in data for data in files)


def _is_long(response: ModelResponse) -> bool:
    return len(response.message.text) > 80
