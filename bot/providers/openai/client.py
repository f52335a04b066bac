"""OpenAI and compatible servers (vLLM, llama.cpp, LM Studio, Groq, OpenRouter) through the openai
SDK.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, and
``capabilities.py`` learns what a server refuses. The SDK gets the request as bytes and judges the
status; events pass it by: its own models would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

import openai

from bot.providers import MediaSupport, Request, StreamEvent
from bot.providers.openai.capabilities import Capabilities
from bot.providers.openai.failures import OpenAIFailures, is_disconnect, message_of
from bot.providers.openai.request import (
    COMPATIBLE,
    JSON,
    OPENAIS,
    PROVIDER,
    chat,
    declarations,
    reasoning_effort,
    response_format,
    tool_choice_of,
)
from bot.providers.openai.response import Answer
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.generated_sdk import client_options, post
from bot.providers.shared.request import Attachments, Inline, remember_last
from bot.providers.shared.streaming import Opened, stream_answer, translating
from bot.transcript import encode

OPENAI = "https://api.openai.com/v1"
# The SDK insists on a key, and local servers want none.
NO_KEY = "no-key"
# The cause of an unknown model lists so many models of the server.
NAMED = 5


class OpenAI:
    """A model behind the chat completions API.

    Args:
        api_key: may be empty where a local server wants none.
        base_url: empty for OpenAI's own; ``/v1`` is added to one without a path.
    """

    name = PROVIDER
    window = 0
    searches = False

    def __init__(
        self, api_key: str, model: str, base_url: str = "", options: Options = USUAL
    ) -> None:
        self.model = model
        self._failures = OpenAIFailures(model, "OPENAI_API_KEY", api_key, options.asker)
        self._options = options
        self._effort = reasoning_effort(model, options.thinking_level)
        self._capabilities = Capabilities(is_openai=not base_url)
        self._dialects = COMPATIBLE if base_url else OPENAIS
        self._declarations = remember_last(partial(declarations, dialects=self._dialects))
        self._client = openai.AsyncOpenAI(
            api_key=api_key or NO_KEY,
            # The SDK must not take this key from the environment.
            admin_api_key="",
            base_url=_with_path(base_url) if base_url else OPENAI,
            **client_options(openai.DefaultAioHttpClient),
        )

    @property
    def media(self) -> MediaSupport:
        """Pictures until the server refuses one; PDFs where they are part of the API."""
        kinds = set(self._capabilities.documents)
        if self._capabilities.sees_pictures:
            kinds.add("image")
        return MediaSupport(frozenset(kinds))

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once, or for JSON by a schema, which comes as text; raises as the Protocol says."""
        may_call = bool(request.tools) and request.tool_choice.mode != "none"
        answer = Answer(self.model, self._failures, request.messages, may_call=may_call)
        return stream_answer(self._send, request, answer, self._failures, self._options)

    async def check(self) -> str:
        """Look the model up, in the server's list where the server has no other way; nothing is
        generated."""
        with translating(self._failures):
            async with asyncio.timeout(FIRST_TOKEN_TIMEOUT_S):
                with suppress(openai.NotFoundError):
                    await self._client.models.retrieve(self.model)
                    return f"{self.model} answers"
                known = [model.id async for model in self._client.models.list()]
        if not {self.model, f"models/{self.model}"} & set(known):
            there = ", ".join(known[:NAMED]) or "nothing"
            raise self._failures.unknown(f"is not known there; there is {there}")
        return f"{self.model} answers"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _body(self, request: Request, inline: Inline) -> JSON:
        body: JSON = {
            "model": self.model,
            "messages": chat(request, self.model, self._capabilities, inline),
            "max_tokens": self._options.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._effort:
            body["reasoning_effort"] = self._effort
        if request.tools:
            body["tools"] = self._declarations(request.tools)
            body["tool_choice"] = tool_choice_of(request.tool_choice)
        if request.schema:
            body["response_format"] = response_format(request.schema, self._dialects)
        return self._capabilities.adapted(body)

    async def _send(self, request: Request, _answer: Answer) -> Opened:
        """Send the request.

        It is sent again as long as a refusal teaches what to leave out, and once where the server
        has closed a kept connection: llama.cpp does so after each stream, against its own headers.
        """
        attachments = Attachments(self.model)
        may_repeat = True
        while True:
            body = self._body(request, attachments.stand_in)
            content = attachments.body(encode(body))
            security = {"bearer_auth": True}
            try:
                return await post(
                    self._client, openai, "/chat/completions", content, security=security
                )
            except openai.APIStatusError as error:
                self._capabilities.learn(error.status_code, message_of(error))
                if self._body(request, attachments.stand_in) == body:
                    raise
            except openai.APIConnectionError as error:
                if not (may_repeat and is_disconnect(error)):
                    raise
                may_repeat = False


def _with_path(base_url: str) -> str:
    if urlsplit(base_url).path.strip("/"):
        return base_url
    return f"{base_url.rstrip('/')}/v1"
