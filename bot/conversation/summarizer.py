"""Summaries of older turns, written by the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing

from msgspec.structs import asdict

from bot.clock import now_ms
from bot.errors import TryAgain
from bot.providers import Completed, ModelResponse, Provider
from bot.safe_text.names import safe_name
from bot.telemetry import Metrics, span
from bot.transcript import Media, Message, Text, ToolCall, ToolResult, encode, new_id

MESSAGE_CAP = 4_000  # characters of one message
RESULT_CAP = 600  # characters of one tool result; the tool can be called again


class Summarizer:
    """Asks the model for summaries.

    Args:
        prompt: the system prompt of these requests.
    """

    def __init__(self, provider: Provider, prompt: str, metrics: Metrics) -> None:
        self._provider = provider
        self._prompt = prompt
        self._metrics = metrics

    async def write(self, before: str, messages: Iterable[Message]) -> ModelResponse:
        """Ask for a new summary. The response costs tokens even if ``summary_text`` refuses it.

        Args:
            before: the last summary; may be empty.
            messages: those after it, oldest first.

        Raises:
            ModelError: the request failed.
        """
        transcript = "\n".join(line for message in messages for line in _lines(message))
        text = f"<notes>\n{_escape(before)}\n</notes>\n\n<transcript>\n{transcript}\n</transcript>"
        asked = Message(new_id("msg"), "user", (Text(text),), now_ms())
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


def summary_text(response: ModelResponse) -> str:
    """The summary in a response.

    Raises:
        ModelError: the response is empty or incomplete.
    """
    text = response.message.text.strip()
    if response.stop_reason != "end_turn" or not text:
        raise TryAgain("malformed", f"{response.model} wrote no summary: {response.stop_reason} {response.detail}")
    return text


def _lines(message: Message) -> Iterator[str]:
    """A message as lines of the transcript. Its text can neither begin a line nor close the transcript."""
    if message.role == "user":
        name = safe_name(message.author.name) if message.author else ""
        text = " ".join(filter(None, (message.text, *_pictures(message))))
        yield f"{_escape(message.context)} {name or 'User'}: {_escape(text)}".lstrip()
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield f"Assistant calls {_escape(part.name)}: {_escape(encode(part.arguments).decode(), RESULT_CAP)}"
        elif isinstance(part, ToolResult):
            yield f"Tool {_escape(part.name)}: {_escape(encode(part.response).decode(), RESULT_CAP)}"
        elif message.role == "model" and isinstance(part, Text) and part.text.strip():
            yield f"Assistant: {_escape(part.text)}"


def _pictures(message: Message) -> Iterator[str]:
    return (f"[{part.mime.partition('/')[0]}]" for part in message.parts if isinstance(part, Media))


def _escape(text: str, cap: int = MESSAGE_CAP) -> str:
    shown = text if len(text) <= cap else f"{text[:cap]} […]"
    return shown.replace("</", "< /").replace("\n", "\n  ")
