"""Anthropic through its SDK: one request in, a stream of events out, the vendor's errors translated.

``request.py`` writes what is sent, ``response.py`` reads what comes back, ``capabilities.py`` knows what each
generation of models takes. The SDK sends the request, which it is given as bytes, and judges the status; the events
that follow are read past its models: both would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import anthropic
import httpx2

from bot.providers import AUTO, Completed, StreamEvent, ToolChoice
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
from bot.providers.retry_policy import CONNECT_TIMEOUT_S, FIRST_TOKEN_TIMEOUT_S, KEEP_ALIVE_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.httpx2_client import bound_error
from bot.providers.shared.request import Attachments, Body, Inline, in_base64, length_of
from bot.providers.shared.streaming import events_of, with_timeouts
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
            http_client=_http_client(),
        )

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; a ``ModelError`` says that there is no answer, or that it broke off."""
        answer = Answer(self.model, messages, self._failures)
        attachments = Attachments()
        body = attachments.body(encode(self._body(system, messages, tools, tool_choice, attachments.stand_in)))
        with translating(self._failures):
            answered = with_timeouts(self._events(body), first_token_timeout_s, self._options)
            async with aclosing(answered) as events:
                async for data in events:
                    for delta in answer.take(data):
                        yield delta
        yield Completed(answer.response())

    async def check(self) -> str:
        """Look the model up, which takes a working key and generates nothing."""
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
            **self._unchanging(system, tools),
            **({"tool_choice": tool_choice_of(tool_choice, self._capabilities)} if tools else {}),
            **self._capabilities.thinking(self._options.max_output_tokens, wanted=not forced and not too_late),
            "messages": chat(messages, self.model, inline),
        }

    def _unchanging(self, system: str, tools: Sequence[ToolDefinition]) -> JSON:
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


def _http_client() -> httpx2.AsyncClient:
    """aiohttp carries the requests: the SDK's own pool becomes slow beyond a hundred in flight.

    No limit on connections: how many turns run at once is the worker's to say.
    """
    limits = httpx2.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_S)  # 0: none, in aiohttp's words
    return anthropic.DefaultAioHttpClient(
        limits=limits,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound_error]},
    )
