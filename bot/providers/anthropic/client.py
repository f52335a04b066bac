"""Anthropic through its SDK.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, and
``capabilities.py`` knows the generations of models. The SDK gets the request as bytes and judges
the status; events pass it by: its own models would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import anthropic

from bot.providers import MediaSupport, Request, StreamEvent
from bot.providers.anthropic.capabilities import capabilities_of
from bot.providers.anthropic.failures import AnthropicFailures
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
from bot.providers.shared.generated_sdk import client_options, post
from bot.providers.shared.request import Attachments, ServerTools
from bot.providers.shared.streaming import Opened, stream_answer, translating
from bot.transcript import encode
from toolset.tool import ToolDefinition

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
        self._failures = AnthropicFailures(model, "ANTHROPIC_API_KEY", api_key, options.asker)
        self._options = options
        self._capabilities = capabilities_of(model, options.thinking_level)
        nothing: tuple[str, Sequence[ToolDefinition], bool] = ("", (), False)
        self._prefix: tuple[tuple[str, Sequence[ToolDefinition], bool], JSON] = (nothing, {})
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

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        answer = Answer(self.model, self._failures, request.messages)
        return stream_answer(self._send, request, answer, self._failures, self._options)

    async def check(self) -> str:
        """Look the model up: that needs a working key and generates nothing."""
        with translating(self._failures):
            async with asyncio.timeout(FIRST_TOKEN_TIMEOUT_S):
                found = await self._client.models.retrieve(self.model)
        return self._server_tools.answers(found.display_name or self.model)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, request: Request, answer: Answer) -> Opened:
        """Send the request with Anthropic's own search; where that is refused, send it without at
        once."""
        ours = {tool.name for tool in request.tools}
        offered = self._server_tools.offered() if request.tool_choice.server_tools else ()
        if ours and WEB_SEARCH in offered and WEB_SEARCH not in ours:
            try:
                return await self._post(request, searches=True)
            except anthropic.BadRequestError as error:
                cause = self._failures.cause_of(error)
            opened = await self._post(request, searches=False)
            answer.refusal = self._server_tools.pause(cause)
            return opened
        return await self._post(request, searches=False)

    async def _post(self, request: Request, *, searches: bool) -> Opened:
        messages, choice = request.messages, request.tool_choice
        attachments = Attachments(self.model)
        body: JSON = {"model": self.model, "stream": True}
        body |= self._cached_prefix(request.system, request.tools, searches=searches)
        is_wanted = not (
            self._capabilities.has_budget and began_without_thought(messages, self.model)
        )
        if request.tools:
            body["tool_choice"] = tool_choice_of(choice, self._capabilities)
            is_wanted = is_wanted and not is_forced(choice)
        body |= self._capabilities.thinking(self._options.max_output_tokens, wanted=is_wanted)
        body["messages"] = chat(messages, self.model, attachments.stand_in, searches=searches)
        content = attachments.body(encode(body))
        return await post(self._client, anthropic, "/v1/messages", content)

    def _cached_prefix(
        self, system: str, tools: Sequence[ToolDefinition], *, searches: bool
    ) -> JSON:
        """Written once for the same tools."""
        (of_system, of_tools, of_searches), prefix = self._prefix
        if of_system != system or of_tools is not tools or of_searches != searches:
            declared = declarations(tools, self._capabilities, searches=searches)
            prefix = cached_prefix(system, declared)
            self._prefix = ((system, tools, searches), prefix)
        return prefix
