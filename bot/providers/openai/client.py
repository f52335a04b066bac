"""OpenAI, and every server that speaks like it (vLLM, llama.cpp, LM Studio, Groq, OpenRouter), through the openai SDK.

``request.py`` writes what is sent, ``response.py`` reads what comes back, ``capabilities.py`` remembers what a server
does not take. The SDK sends the request, which it is given as bytes, and judges the status; the events that follow are
read past its models: both would take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from bot.providers import AUTO, Completed, StreamEvent, ToolChoice
from bot.providers.openai.capabilities import Capabilities
from bot.providers.openai.failures import is_hung_up, translating, words_of
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
from bot.providers.retry_policy import CONNECT_TIMEOUT_S, FIRST_TOKEN_TIMEOUT_S, KEEP_ALIVE_S, LAST_BYTES_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.httpx2_client import bound_error
from bot.providers.shared.request import Attachments, length_of
from bot.providers.shared.streaming import events_of, with_timeouts
from bot.transcript import Message, encode
from toolset.tool import ToolDefinition

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key"  # the SDK insists on one, local servers want none
NAMED = 5  # models named where the one that was asked for is not among them


class OpenAI:
    """A model behind the chat completions API.

    Args:
        api_key: may be empty where a local server wants none.
        base_url: empty for OpenAI's own; ``/v1`` is added to one without a path.
    """

    name = PROVIDER
    window = 0

    def __init__(self, api_key: str, model: str, base_url: str = "", options: Options = USUAL) -> None:
        self.model = model
        self._failures = Failures(model, "OPENAI_API_KEY", api_key, options.asker)
        self._options = options
        self._effort = reasoning_effort(model, options.thinking_level)
        self._capabilities = Capabilities(is_openai=not base_url)
        self._dialects = COMPATIBLE if base_url else OPENAIS
        self._declared: tuple[Sequence[ToolDefinition], list[JSON]] = ((), [])
        self._client = openai.AsyncOpenAI(
            api_key=api_key or NO_KEY,
            admin_api_key="",  # not from the environment
            base_url=_with_path(base_url) if base_url else OPENAI,
            max_retries=0,
            timeout=openai.Timeout(None, connect=CONNECT_TIMEOUT_S),
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
        fields = {"tools": self._declarations(tools), "tool_choice": tool_choice_of(tool_choice)} if tools else {}
        answer = Answer(self.model, messages, self._failures, may_call=bool(tools) and tool_choice.mode != "none")
        async with aclosing(self._ask(system, messages, fields, answer, first_token_timeout_s)) as events:
            async for event in events:
                yield event

    async def write(
        self,
        system: str,
        messages: Sequence[Message],
        schema: JSON,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once for JSON by a schema, which comes as text.

        Raises:
            ModelError: no answer, or one that broke off.
        """
        fields = {"response_format": response_format(schema, self._dialects)}
        answer = Answer(self.model, messages, self._failures, may_call=False)
        async with aclosing(self._ask(system, messages, fields, answer, first_token_timeout_s)) as events:
            async for event in events:
                yield event

    async def check(self) -> str:
        """Look the model up, in the server's list where it knows no other way, and generate nothing."""
        with translating(self._failures):
            async with asyncio.timeout(self._options.first_token_timeout_s):
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

    async def _ask(
        self, system: str, messages: Sequence[Message], fields: JSON, answer: Answer, first_token_timeout_s: float
    ) -> AsyncGenerator[StreamEvent]:
        attachments = Attachments()

        def body() -> JSON:
            said = chat(system, messages, self.model, self._capabilities, attachments.stand_in)
            return self._capabilities.adapted({"model": self.model, "messages": said, **self._fixed(), **fields})

        with translating(self._failures):
            answered = with_timeouts(self._events(body, attachments), first_token_timeout_s, self._options)
            async with aclosing(answered) as events:
                async for data in events:
                    for delta in answer.take(data):
                        yield delta
        yield Completed(answer.response())

    def _fixed(self) -> JSON:
        """The part of a request that never changes."""
        fixed: JSON = {
            "max_tokens": self._options.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return fixed | ({"reasoning_effort": self._effort} if self._effort else {})

    def _declarations(self, tools: Sequence[ToolDefinition]) -> list[JSON]:
        if self._declared[0] is not tools:
            self._declared = (tools, declarations(tools, self._dialects))
        return self._declared[1]

    async def _events(self, body: Callable[[], JSON], attachments: Attachments) -> AsyncGenerator[bytes]:
        """The events of one answer, the last of them ``DONE`` where the server says so."""
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

    async def _open(self, body: Callable[[], JSON], attachments: Attachments, stack: AsyncExitStack) -> httpx2.Response:
        """Have the SDK make the request.

        Again where a refusal has taught us what to leave out, and once where a connection that was kept had been closed
        from the other end: llama.cpp does so after each stream, whatever it promises.
        """
        kept = True
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
                self._capabilities.learn(error.status_code, words_of(error))
                if body() == sent:
                    raise
            except openai.APIConnectionError as error:
                if not (kept and is_hung_up(error)):
                    raise
                kept = False
            else:
                stack.push_async_callback(stream.close)
                return stream.response


def _http_client() -> Any:
    """aiohttp carries the requests: the SDK's own pool becomes slow beyond a hundred in flight.

    No limit on connections: how many turns run at once is the worker's to say.
    """
    limits = httpx2.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_S)  # 0: none, in aiohttp's words
    return openai.DefaultAioHttpClient(
        limits=limits,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound_error]},
    )


def _with_path(base_url: str) -> str:
    return base_url if urlsplit(base_url).path.strip("/") else f"{base_url.rstrip('/')}/v1"
