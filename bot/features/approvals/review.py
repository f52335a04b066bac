"""Reviewers: models that vote on a high-risk call before a person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Literal

import structlog

from bot.agent.single_request import read_response
from bot.agent.turn import ActingCall
from bot.clock import now_ms
from bot.errors import ModelError
from bot.providers import ModelResponse, Provider, Request, ToolChoice
from bot.safe_text.glyphs import invisible, safe_name
from bot.safe_text.transcript import RESULT_CAP, escaped, transcript_lines
from bot.telemetry import Metrics
from bot.transcript import Author, Message, Text, Usage, encode, new_id
from toolset.schema import Schema
from toolset.tool import ToolDefinition

log = structlog.stdlib.get_logger(__name__)

REVIEW_S = 10.0  # for all reviewers together
LED_TO = 12  # messages of the transcript that reviewers are shown
PARAMETERS = {
    "type": "object",
    "properties": {
        "verdict": {
            "type": "string",
            "enum": ["approve", "reject"],
            "description": "Whether the call may be made.",
        },
        "sentence": {
            "type": "string",
            "maxLength": 1_000,
            "description": "One short sentence that says why.",
        },
    },
    "required": ["verdict", "sentence"],
    "additionalProperties": False,
}
VOTE = ToolDefinition("vote", "Votes on the call under review.", PARAMETERS, {"type": "object"})
VALID = Schema(PARAMETERS)

Verdict = Literal["approve", "reject"]
Spend = Callable[
    [str, Usage], Awaitable[None]
]  # counts the tokens of a model's response; never raises


@dataclass(frozen=True, slots=True)
class Vote:
    """What one reviewer says; without a verdict it failed or was late."""

    reviewer: str
    verdict: Verdict | None = None
    sentence: str = ""


class Reviewers:
    """Asks every reviewer at once.

    Args:
        models: by the name that the operator chose, ``provider:model``.
        prompt: the system prompt of these requests.
        limit_s: seconds for all together.
    """

    def __init__(
        self,
        models: Mapping[str, Provider],
        prompt: str,
        metrics: Metrics,
        limit_s: float = REVIEW_S,
    ) -> None:
        self._models = models
        self._usual = tuple(models)
        self._prompt = prompt
        self._metrics = metrics
        self._limit_s = limit_s

    async def vote(
        self, acting: ActingCall, spend: Spend, names: Sequence[str] | None = None
    ) -> tuple[Vote, ...]:
        """One vote of each reviewer, in the operator's order; of others where a place names some.
        Raises nothing but a cancellation."""
        if not (chosen := self._usual if names is None else names):
            return ()
        request = [Message(new_id("msg"), "user", (Text(case_text(acting)),), now_ms())]
        asked = {
            name: asyncio.create_task(self._ask(self._models[name], request, spend))
            for name in chosen
        }
        in_time: set[asyncio.Task[ModelResponse]] = set()
        try:
            in_time, _ = await asyncio.wait(asked.values(), timeout=self._limit_s)
        finally:
            for task in asked.values():
                task.cancel()
            outcomes = await asyncio.gather(*asked.values(), return_exceptions=True)
        return tuple(
            _vote(name, outcome if task in in_time else asyncio.CancelledError())
            for (name, task), outcome in zip(asked.items(), outcomes, strict=True)
        )

    async def _ask(
        self, model: Provider, request: Sequence[Message], spend: Spend
    ) -> ModelResponse:
        choice = ToolChoice("one", VOTE.name)
        events = model.stream(Request(self._prompt, request, (VOTE,), choice, self._limit_s))
        response = await read_response(events, "review", model.model, self._metrics)
        await spend(response.model, response.usage)
        return response


def case_text(acting: ActingCall) -> str:
    """What reviewers read: the asker's words, the call, and what led to it. No part can end its
    block."""
    name = safe_name(acting.asker.name) or "User"
    # Nobody said what is in notes, and poisoned ones could pass for the asker's words.
    messages = [message for message in acting.led_to if not message.is_note][-LED_TO:]
    transcript = "\n".join(
        line for one in messages for line in transcript_lines(one, _speaker(one, acting.asker))
    )
    call = (
        f"Tool: {acting.call.name}: {escaped(acting.tool.description, RESULT_CAP)}",
        f"Arguments: {escaped(_visible(encode(acting.call.arguments).decode()))}",
        f"The assistant's reason: {escaped(acting.reason, RESULT_CAP) or 'none'}",
    )
    blocks = {
        "request": f"{name}: {escaped(acting.text)}",
        "call": "\n".join(call),
        "transcript": transcript,
    }
    return "\n\n".join(f"<{block}>\n{text}\n</{block}>" for block, text in blocks.items())


def _speaker(message: Message, asker: Author) -> str:
    """Whose message it is, where that is not the asker; anybody may have the asker's name."""
    if message.author is None or message.author.id == asker.id:
        return ""
    return f"{safe_name(message.author.name) or 'User'} (not the asker)"


def _visible(json: str) -> str:
    """The JSON with escapes for what a model reads and no person sees."""
    hidden = invisible(json)
    return "".join(
        dumps(letter)[1:-1] if index in hidden else letter for index, letter in enumerate(json)
    )


def _vote(reviewer: str, outcome: ModelResponse | BaseException) -> Vote:
    """The vote in a response. Only one valid call of ``vote`` counts, and no text."""
    if isinstance(outcome, BaseException):
        is_late = isinstance(outcome, asyncio.CancelledError)
        cause = (
            outcome.cause
            if isinstance(outcome, ModelError)
            else "late"
            if is_late
            else type(outcome).__name__
        )
    else:
        calls = outcome.message.calls
        is_whole = outcome.stop_reason in ("tool_use", "end_turn")
        if (
            is_whole
            and len(calls) == 1
            and calls[0].name == VOTE.name
            and not VALID.complaint(calls[0].arguments)
        ):
            return Vote(reviewer, calls[0].arguments["verdict"], calls[0].arguments["sentence"])
        cause = f"no valid vote: {outcome.stop_reason}"
    log.warning("review.vote_missing", model=reviewer, cause=cause)
    return Vote(reviewer)
