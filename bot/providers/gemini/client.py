"""Gemini through google-genai: one request in, a stream of events out, the vendor's errors translated.

``request.py`` writes what is sent, ``response.py`` reads what comes back, ``relay.py`` carries both, and ``caching.py``
has Google keep what many requests begin with. The SDK is given the request as ready-made JSON (``extra_body``): its own
models take four times the CPU time, most of it on a history that is JSON already.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial

import aiohttp
import httpx
from google import genai
from google.genai import errors, types

from bot.providers import AUTO, Completed, StreamEvent, ToolChoice
from bot.providers.gemini.caching import CachedContents
from bot.providers.gemini.failures import Access, translating
from bot.providers.gemini.relay import Relay, kept_streams
from bot.providers.gemini.request import JSON, contents, declarations, generation_config, tool_config
from bot.providers.gemini.response import Answer, Event, read
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.request import Attachments
from bot.providers.shared.streaming import events_of
from bot.transcript import Message
from toolset.tool import ToolDefinition

API_VERSION = "v1beta"  # the one every preview model is served under
PLACEHOLDER = "-"  # the SDK insists on contents; ours replace it
CACHE_REFUSALS = (400, 403, 404)  # of a cached content that is gone or does not fit, in different words by service


class GenerateContent:
    """A model behind ``generateContent``, however its service lets somebody in.

    Args:
        connected: makes the SDK's client of the options it is given.
    """

    name = ""
    window = 0

    def __init__(
        self,
        connected: Callable[[types.HttpOptions], genai.Client],
        access: Access,
        api_version: str,
        base_url: str,
        options: Options,
    ) -> None:
        self.model = access.model
        self._access = access
        self._options = options
        self._generation = generation_config(self.model, options.max_output_tokens, options.thinking_level)
        self._declared: tuple[Sequence[ToolDefinition], list[JSON]] = ((), [])
        tls = httpx.create_ssl_context()
        self._http = httpx.AsyncClient(
            transport=Relay(tls),
            headers={"accept-encoding": "identity"},
            trust_env=False,  # the relay's session looks for proxies
        )
        self._client = connected(
            types.HttpOptions(
                api_version=api_version,
                base_url=base_url or None,
                httpx_async_client=self._http,
                client_args={"verify": tls},  # unused, but each one left out is built anew in 30 ms
                async_client_args={"ssl": tls},
                retry_options=types.HttpRetryOptions(attempts=1),
            )
        )
        self._cached = CachedContents(self._client, access)

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Ask once; a ``ModelError`` says that there is no answer, or that it broke off."""
        answer = Answer(self.name, self.model)
        prefix = self._prefix(system, tools, tool_choice)
        cached = self._cached.use(prefix) if tool_choice == AUTO else ""
        attachments = Attachments()
        said = contents(messages, self.name, self.model, attachments.stand_in)
        open_stream = partial(
            self._open, {"contents": said, "generationConfig": self._generation}, prefix, cached, attachments
        )
        async with aclosing(self._events(open_stream, first_token_timeout_s)) as events:
            async for event in events:
                for delta in answer.take(event):
                    yield delta
        yield Completed(answer.response())

    async def check(self) -> str:
        """Look the model up, which takes a working key and generates nothing."""
        with translating(self._access):
            async with asyncio.timeout(self._options.first_token_timeout_s):
                found = await self._client.aio.models.get(model=self.model)
        return f"{found.display_name or self.model} answers"

    async def aclose(self) -> None:
        """Delete what is cached and close the connections."""
        await self._cached.aclose()
        await self._http.aclose()
        self._client.close()

    def _prefix(self, system: str, tools: Sequence[ToolDefinition], tool_choice: ToolChoice) -> JSON:
        """What the requests of a channel have in common."""
        prefix: JSON = {"systemInstruction": {"parts": [{"text": system}]}} if system else {}
        if tools:
            prefix["tools"] = self._declarations(tools)
            prefix["toolConfig"] = tool_config(tool_choice)
        return prefix

    def _declarations(self, tools: Sequence[ToolDefinition]) -> list[JSON]:
        if self._declared[0] is not tools:
            self._declared = (tools, declarations(tools))
        return self._declared[1]

    async def _events(
        self, open_stream: Callable[[], Awaitable[aiohttp.ClientResponse]], first_token_timeout_s: float
    ) -> AsyncGenerator[Event]:
        """The events of one answer, within the time-outs."""
        now = asyncio.get_running_loop().time
        started = now()
        deadline = started + min(first_token_timeout_s, self._options.first_token_timeout_s)
        with translating(self._access):
            async with asyncio.timeout_at(deadline):
                stream = await open_stream()
            async with stream, aclosing(events_of(stream.content.iter_any())) as events:
                while True:
                    async with asyncio.timeout_at(deadline):
                        event = await anext(events, None)
                    if event is None:
                        return
                    yield read(event)
                    deadline = started + self._options.request_timeout_s

    async def _open(self, rest: JSON, prefix: JSON, cached: str, attachments: Attachments) -> aiohttp.ClientResponse:
        """Ask with what is cached of the prefix; where that is refused, at once with the prefix itself."""
        if not cached:
            return await self._send(rest | prefix, attachments)
        try:
            return await self._send(rest | {"cachedContent": cached}, attachments)
        except errors.ClientError as error:
            if error.code not in CACHE_REFUSALS:
                raise
        stream = await self._send(rest | prefix, attachments)
        self._cached.forget(cached)
        return stream

    async def _send(self, body: JSON, attachments: Attachments) -> aiohttp.ClientResponse:
        """Have the SDK make the request; what follows its 200 is ours to read."""
        config: types.GenerateContentConfigDict = {
            "http_options": {"extra_body": body},
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
        }
        with kept_streams(attachments) as kept:
            async for _ in await self._client.aio.models.generate_content_stream(
                model=self.model, contents=PLACEHOLDER, config=config
            ):
                pass  # only an answer in another form than was asked for comes this way
        if not kept:
            raise ValueError("no event stream")
        return kept[0]


class Gemini(GenerateContent):
    """A Gemini model by an API key.

    Args:
        base_url: empty for Google's own.
    """

    name = "gemini"

    def __init__(self, api_key: str, model: str, base_url: str = "", options: Options = USUAL) -> None:
        access = Access(model, "GEMINI_API_KEY was refused ({}): set a valid key", api_key, options.asker)
        super().__init__(partial(_with_key, api_key), access, API_VERSION, base_url, options)


def _with_key(api_key: str, options: types.HttpOptions) -> genai.Client:
    return genai.Client(api_key=api_key, vertexai=False, http_options=options)
