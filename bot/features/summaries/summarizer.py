"""Summaries of older turns, written by the model."""

from __future__ import annotations

from collections.abc import Iterable

from bot.agent.single_request import read_response
from bot.clock import now_ms
from bot.errors import TryAgain
from bot.providers import ModelResponse, Provider, Request
from bot.safe_text.transcript import escaped, transcript_lines
from bot.telemetry import Metrics
from bot.transcript import Message, Text, new_id


class Summarizer:
    """Asks the model for summaries.

    Args:
        prompt: the system prompt of these requests.
    """

    def __init__(self, prompt: str, metrics: Metrics) -> None:
        self._prompt = prompt
        self._metrics = metrics

    async def write(
        self, model: Provider, before: str, messages: Iterable[Message]
    ) -> ModelResponse:
        """Ask for a new summary. The response costs tokens even if ``summary_text`` refuses it.

        Args:
            before: the last summary; may be empty.
            messages: those after it, oldest first.

        Raises:
            ModelError: the request failed.
        """
        transcript = "\n".join(line for message in messages for line in transcript_lines(message))
        text = f"<notes>\n{escaped(before)}\n</notes>\n\n<transcript>\n{transcript}\n</transcript>"
        asked = Message(new_id("msg"), "user", (Text(text),), now_ms())
        events = model.stream(Request(self._prompt, [asked]))
        return await read_response(events, "summary", model.model, self._metrics)


def summary_text(response: ModelResponse) -> str:
    """The summary in a response.

    Raises:
        ModelError: the response is empty or incomplete.
    """
    text = response.message.text.strip()
    if response.stop_reason != "end_turn" or not text:
        raise TryAgain(
            "malformed",
            f"{response.model} wrote no summary: {response.stop_reason} {response.detail}",
        )
    return text
