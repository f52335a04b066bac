"""Anthropic through its SDK.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates exceptions, and
``capabilities.py`` knows the generations of models. The SDK gets the request as bytes and judges the status; events
pass it by: its own models would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import anthropic

from bot.providers import AUTO, StreamEvent, ToolChoice
from bot.providers.anthropic.capabilities import capabilities_of
from bot.providers.anthropic.failures import translating
from bot.providers.anthropic.request import (
    JSON,
    PROVIDER,
    began_without_thought,
    cached_prefix,
    chat,
    declarations,
    is_forced,
    tool_choice_of,
)
from bot.providers.anthropic.response import Answer
from bot.providers.retry_policy import CONNECT_TIMEOUT_S, FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.httpx2_client import open_client
from bot.providers.shared.request import Attachments, Body, Inline, in_base64, length_of
from bot.providers.shared.streaming import events_of, stream_answer
from bot.transcript import Message, encode
from toolset.tool import ToolDefinition

ANTHROPIC = "https://api.anthropic.com"


class Anthropic:
    """A Claude model.

    Args:
        base_url: empty for Anthropic's own.
    """

    name = PROVIDER
    window = 0

    def __init__(self, api_key: str, model: str, base_url: str = "", options: Options = USUAL) -> None:
        self.model = model
        self._failures = Failures(model, "ANTHROPIC_API_KEY", api_key, options.asker)
        self._options = options
        self._capabilities = capabilities_of(model, options.thinking_level)
        self._prefix: tuple[tuple[str, Sequence[ToolDefinition]], JSON] = (("", ()), {})
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or ANTHROPIC,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=CONNECT_TIMEOUT_S),
            default_headers={"accept-encoding": "identity"},
            http_client=open_client(anthropic.DefaultAioHttpClient),
        )

    def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        attachments = Attachments()
        body = attachments.body(encode(self._body(system, messages, tools, tool_choice, attachments.stand_in)))
        answer = Answer(self.model, messages, self._failures)
        events = self._events(body)
        return stream_answer(events, answer, translating(self._failures), first_token_timeout_s, self._options)

    async def check(self) -> str:
        """Look the model up: that needs a working key and generates nothing."""
        with translating(self._failures):
            async with asyncio.timeout(self._options.first_token_timeout_s):
                found = await self._client.models.retrieve(self.model)
        return f"{found.display_name or self.model} answers"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice,
        inline: Inline = in_base64,
    ) -> JSON:
        forced = bool(tools) and is_forced(tool_choice)
        too_late = self._capabilities.has_budget and began_without_thought(messages, self.model)
        return {
            "model": self.model,
            "stream": True,
            **self._cached_prefix(system, tools),
            **({"tool_choice": tool_choice_of(tool_choice, self._capabilities)} if tools else {}),
            **self._capabilities.thinking(self._options.max_output_tokens, wanted=not forced and not too_late),
            "messages": chat(messages, self.model, inline),
        }

    def _cached_prefix(self, system: str, tools: Sequence[ToolDefinition]) -> JSON:
        before, prefix = self._prefix
        if before[0] != system or before[1] is not tools:
            prefix = cached_prefix(system, declarations(tools, self._capabilities))
            self._prefix = ((system, tools), prefix)
        return prefix

    async def _events(self, body: bytes | Body) -> AsyncGenerator[bytes]:
        stream = await self._client.post(
            "/v1/messages",
            content=body,
            options={"headers": length_of(body)},
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
        async with stream, aclosing(events_of(stream.response.aiter_bytes())) as events:
            async for data in events:
                yield data
