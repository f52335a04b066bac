"""Anthropic through its SDK.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, and
``capabilities.py`` knows the generations of models. The SDK gets the request as bytes and judges
the status; events pass it by: its own models would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import anthropic

from bot.providers import AUTO, MediaSupport, StreamEvent, ToolChoice
from bot.providers.anthropic.capabilities import capabilities_of
from bot.providers.anthropic.failures import cause_of, translating
from bot.providers.anthropic.request import (
    JSON,
    PROVIDER,
    WEB_SEARCH,
    began_without_thought,
    cached_prefix,
    chat,
    declarations,
    is_forced,
    tool_choice_of,
)
from bot.providers.anthropic.response import Answer
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.generated_sdk import client_options
from bot.providers.shared.request import (
    Attachments,
    Body,
    Inline,
    ServerTools,
    in_base64,
    length_of,
)
from bot.providers.shared.streaming import events_of, stream_answer
from bot.transcript import Message, encode
from toolset.tool import ToolDefinition

# This writes the body of a request; its keyword ``searches`` adds Anthropic's own search.
Write = Callable[..., bytes | Body]
ANTHROPIC = "https://api.anthropic.com"


class Anthropic:
    """A Claude model.

    Args:
        base_url: empty for Anthropic's own.
    """

    name = PROVIDER
    window = 0
    media = MediaSupport(frozenset(("image", "pdf")))

    def __init__(
        self, api_key: str, model: str, base_url: str = "", options: Options = USUAL
    ) -> None:
        self.model = model
        self._failures = Failures(model, "ANTHROPIC_API_KEY", api_key, options.asker)
        self._options = options
        self._capabilities = capabilities_of(model, options.thinking_level)
        self._prefix: tuple[tuple[str, Sequence[ToolDefinition], bool], JSON] = (
            ("", (), False),
            {},
        )
        chosen = tuple(name for name in options.server_tools if name == WEB_SEARCH)
        self._server_tools = ServerTools(chosen, model)
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or ANTHROPIC,
            **client_options(anthropic.DefaultAioHttpClient),
        )

    @property
    def searches(self) -> bool:
        """Whether one of the vendor's own tools is offered."""
        return bool(self._server_tools.offered())

    def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        attachments = Attachments(self.model)
        ours = {tool.name for tool in tools}
        searches = (
            bool(tools) and WEB_SEARCH in self._server_tools.offered() and WEB_SEARCH not in ours
        )

        def write(*, searches: bool) -> bytes | Body:
            asked = system, messages, tools, tool_choice, attachments.stand_in
            return attachments.body(encode(self._body(*asked, searches=searches)))

        answer = Answer(self.model, messages, self._failures)
        events = self._events(write, answer, searches=searches)
        return stream_answer(
            events, answer, translating(self._failures), first_token_timeout_s, self._options
        )

    async def check(self) -> str:
        """Look the model up: that needs a working key and generates nothing."""
        with translating(self._failures):
            async with asyncio.timeout(self._options.check_timeout_s):
                found = await self._client.models.retrieve(self.model)
        answers = f"{found.display_name or self.model} answers"
        if own := ", ".join(self._server_tools.names):
            answers += f", with {own}"
        return answers

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
        *,
        searches: bool = False,
    ) -> JSON:
        forced = bool(tools) and is_forced(tool_choice)
        too_late = self._capabilities.has_budget and began_without_thought(messages, self.model)
        body: JSON = {"model": self.model, "stream": True}
        body |= self._cached_prefix(system, tools, searches=searches)
        if tools:
            body["tool_choice"] = tool_choice_of(tool_choice, self._capabilities)
        body |= self._capabilities.thinking(
            self._options.max_output_tokens, wanted=not forced and not too_late
        )
        body["messages"] = chat(messages, self.model, inline, searches=searches)
        return body

    def _cached_prefix(
        self, system: str, tools: Sequence[ToolDefinition], *, searches: bool
    ) -> JSON:
        before, prefix = self._prefix
        if before[0] != system or before[1] is not tools or before[2] != searches:
            prefix = cached_prefix(
                system, declarations(tools, self._capabilities, searches=searches)
            )
            self._prefix = ((system, tools, searches), prefix)
        return prefix

    async def _events(
        self, write: Write, answer: Answer, *, searches: bool
    ) -> AsyncGenerator[bytes]:
        if searches:
            stream = await self._open_searching(write, answer)
        else:
            stream = await self._open(write(searches=False))
        async with stream, aclosing(events_of(stream.response.aiter_bytes())) as events:
            async for data in events:
                yield data

    async def _open_searching(self, write: Write, answer: Answer) -> anthropic.AsyncStream[object]:
        """Send the request with Anthropic's own search; where that is refused, send it without at
        once."""
        try:
            return await self._open(write(searches=True))
        except anthropic.BadRequestError as error:
            cause = cause_of(error, self._failures)
        stream = await self._open(write(searches=False))
        answer.refusal = self._server_tools.pause(cause)
        return stream

    async def _open(self, body: bytes | Body) -> anthropic.AsyncStream[object]:
        return await self._client.post(
            "/v1/messages",
            content=body,
            options={"headers": length_of(body)},
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
