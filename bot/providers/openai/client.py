"""OpenAI and compatible servers (vLLM, llama.cpp, LM Studio, Groq, OpenRouter) through the openai
SDK.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, and
``capabilities.py`` learns what a server refuses. The SDK gets the request as bytes and judges the
status; events pass it by: its own models would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from functools import partial
from urllib.parse import urlsplit

import httpx2
import openai

from bot.providers import AUTO, MediaSupport, StreamEvent, ToolChoice
from bot.providers.openai.capabilities import Capabilities
from bot.providers.openai.failures import is_disconnect, message_of, translating
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
from bot.providers.openai.response import DONE, Answer
from bot.providers.retry_policy import (
    FIRST_TOKEN_TIMEOUT_S,
    LAST_BYTES_TIMEOUT_S,
)
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.generated_sdk import client_options
from bot.providers.shared.request import Attachments, length_of, remember_last
from bot.providers.shared.streaming import events_of, stream_answer
from bot.transcript import Message, encode
from toolset.tool import ToolDefinition

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
        self._failures = Failures(model, "OPENAI_API_KEY", api_key, options.asker)
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

    def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        fields: JSON = {}
        if tools:
            fields["tools"] = self._declarations(tools)
            fields["tool_choice"] = tool_choice_of(tool_choice)
        answer = Answer(
            self.model,
            messages,
            self._failures,
            may_call=bool(tools) and tool_choice.mode != "none",
        )
        return self._ask(system, messages, fields, answer, first_token_timeout_s)

    def write(
        self,
        system: str,
        messages: Sequence[Message],
        schema: JSON,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once for JSON by a schema, which comes as text; raises as ``stream``."""
        fields = {"response_format": response_format(schema, self._dialects)}
        answer = Answer(self.model, messages, self._failures, may_call=False)
        return self._ask(system, messages, fields, answer, first_token_timeout_s)

    async def check(self) -> str:
        """Look the model up, in the server's list where the server has no other way; nothing is
        generated."""
        with translating(self._failures):
            async with asyncio.timeout(self._options.check_timeout_s):
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

    def _ask(
        self,
        system: str,
        messages: Sequence[Message],
        fields: JSON,
        answer: Answer,
        first_token_timeout_s: float,
    ) -> AsyncGenerator[StreamEvent]:
        attachments = Attachments(self.model)

        def body() -> JSON:
            turns = chat(system, messages, self.model, self._capabilities, attachments.stand_in)
            return self._capabilities.adapted(
                {"model": self.model, "messages": turns, **self._fixed(), **fields}
            )

        events = self._events(body, attachments)
        return stream_answer(
            events, answer, translating(self._failures), first_token_timeout_s, self._options
        )

    def _fixed(self) -> JSON:
        """The fields that are the same in every request."""
        fixed: JSON = {
            "max_tokens": self._options.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._effort:
            fixed["reasoning_effort"] = self._effort
        return fixed

    async def _events(
        self, body: Callable[[], JSON], attachments: Attachments
    ) -> AsyncGenerator[bytes]:
        """The events of one answer; ``DONE`` is the last one of most servers."""
        async with AsyncExitStack() as stack:
            response = await self._open(body, attachments, stack)
            async with aclosing(events_of(response.aiter_bytes())) as events:
                async for data in events:
                    yield data
                    if data == DONE:
                        break
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_BYTES_TIMEOUT_S):
                        await anext(events, None)

    async def _open(
        self, body: Callable[[], JSON], attachments: Attachments, stack: AsyncExitStack
    ) -> httpx2.Response:
        """Send the request through the SDK.

        It is sent again as long as a refusal teaches what to leave out, and once where the server
        has closed a kept connection: llama.cpp does so after each stream, against its own headers.
        """
        may_repeat = True
        while True:
            sent = body()
            content = attachments.body(encode(sent))
            try:
                stream = await self._client.post(
                    "/chat/completions",
                    content=content,
                    options={"security": {"bearer_auth": True}, "headers": length_of(content)},
                    cast_to=object,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                )
            except openai.APIStatusError as error:
                self._capabilities.learn(error.status_code, message_of(error))
                if body() == sent:
                    raise
            except openai.APIConnectionError as error:
                if not (may_repeat and is_disconnect(error)):
                    raise
                may_repeat = False
            else:
                stack.push_async_callback(stream.close)
                return stream.response


def _with_path(base_url: str) -> str:
    if urlsplit(base_url).path.strip("/"):
        return base_url
    return f"{base_url.rstrip('/')}/v1"
