"""Summaries: the model writes down what older turns came to, in the place of their words."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing

from msgspec.structs import asdict

from bot.errors import TryAgain
from bot.metrics import Metrics
from bot.providers import Completed, ModelResponse, Provider
from bot.safe_text.names import safe_name
from bot.telemetry import span
from bot.transcript import Media, Message, Text, ToolCall, ToolResult, encode, new_id

WORDS_CAP = 4_000  # characters of one message
RESULT_CAP = 600  # of one tool's result, which can be looked up again


class Summarizer:
    """Asks for a summary.

    Args:
        prompt: what a summary is.
    """

    def __init__(self, provider: Provider, prompt: str, metrics: Metrics) -> None:
        self._provider = provider
        self._prompt = prompt
        self._metrics = metrics

    async def write(self, before: str, messages: Iterable[Message]) -> ModelResponse:
        """Ask for a new summary; what comes costs the same where it is none.

        Args:
            before: the last one, empty where there is none.
            messages: what was said since, oldest first.

        Raises:
            ModelError: the model could not be asked.
        """
        said = "\n".join(line for message in messages for line in _lines(message))
        words = f"<notes>\n{_tame(before)}\n</notes>\n\n<transcript>\n{said}\n</transcript>"
        asked = Message(new_id("msg"), "user", (Text(words),), time.time_ns() // 1_000_000)
        with span("model", self._metrics) as call:
            response = await self._ask([asked])
            call.end("model.called", "summary", response.model, tokens=asdict(response.usage))
        return response

    async def _ask(self, messages: Sequence[Message]) -> ModelResponse:
        async with aclosing(self._provider.stream(self._prompt, messages, ())) as events:
            async for event in events:
                if isinstance(event, Completed):
                    return event.response
        raise TryAgain("malformed", "the model's stream ended without an answer")


def notes_of(response: ModelResponse) -> str:
    """What was written.

    Raises:
        ModelError: it is no summary, or none that ends.
    """
    text = response.message.text.strip()
    if response.stop_reason != "end_turn" or not text:
        raise TryAgain("malformed", f"{response.model} wrote no summary: {response.stop_reason} {response.detail}")
    return text


def _lines(message: Message) -> Iterator[str]:
    """A message as a transcript shows it; what it says cannot begin a line, nor end the transcript."""
    if message.role == "user":
        name = safe_name(message.author.name) if message.author else ""
        words = " ".join(filter(None, (message.text, *_pictures(message))))
        yield f"{_tame(message.context)} {name or 'User'}: {_tame(words, WORDS_CAP)}".lstrip()
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield f"Assistant calls {_tame(part.name)}: {_tame(encode(part.arguments).decode(), RESULT_CAP)}"
        elif isinstance(part, ToolResult):
            yield f"Tool {_tame(part.name)}: {_tame(encode(part.response).decode(), RESULT_CAP)}"
        elif message.role == "model" and isinstance(part, Text) and part.text.strip():
            yield f"Assistant: {_tame(part.text, WORDS_CAP)}"


def _pictures(message: Message) -> Iterator[str]:
    return (f"[{part.mime.partition('/')[0]}]" for part in message.parts if isinstance(part, Media))


def _tame(text: str, cap: int = WORDS_CAP) -> str:
    shown = text if len(text) <= cap else f"{text[:cap]} […]"
    return shown.replace("</", "< /").replace("\n", "\n  ")
