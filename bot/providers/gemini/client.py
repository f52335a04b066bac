"""Gemini, by a key or on Vertex AI: one path, on which only address and authorization differ.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, ``uploads.py`` has Google keep large files for a turn, ``caching.py`` has Google keep
the beginning that many requests share, and ``server_tools.py`` knows Google's own tools. A request
for an answer goes without google-genai, whose way takes four times the CPU time; ``sdk.py`` has it
for everything else.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import aiohttp

from bot.http import open_sdk_session, open_session, tls_context
from bot.providers import AUTO, MediaSupport, StreamEvent, ToolChoice
from bot.providers.gemini.access import Access
from bot.providers.gemini.caching import CachedContents
from bot.providers.gemini.failures import ServiceError, cause_of, read_refusal, translating
from bot.providers.gemini.request import (
    JSON,
    OPENING,
    contents,
    declarations,
    declared,
    generation_config,
    kinds_of,
    may_be_refusal,
    own_tools,
    tool_config,
)
from bot.providers.gemini.response import Answer
from bot.providers.gemini.uploads import UploadedFiles
from bot.providers.retry_policy import CONNECT_TIMEOUT_S, FIRST_TOKEN_TIMEOUT_S
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import Attachments, ServerTools, length_of, remember_last
from bot.providers.shared.streaming import events_of, stream_answer
from bot.transcript import Message, encode
from toolset.tool import ToolDefinition

if TYPE_CHECKING:
    from bot.providers.gemini.sdk import Sdk

GOOGLE = "https://generativelanguage.googleapis.com"
# Every preview model is served under this version.
API_VERSION = "v1beta"
EVENT_STREAM = "text/event-stream"
HEADERS = {
    "content-type": "application/json",
    "accept": EVENT_STREAM,
    "accept-encoding": "identity",
}
# Google answers with one of these about a cached content that is gone or does not fit; the message
# differs by service.
CACHE_REFUSALS = (400, 403, 404)
# So many prefixes are remembered; a channel has one or two.
MOST_PREFIXES = 16


class Prefix(NamedTuple):
    """The fields that all requests of a channel share; ``json`` is their encoded form.

    Attributes:
        tools: what they declare.
    """

    fields: JSON
    json: bytes
    tools: Sequence[ToolDefinition]


class Request(NamedTuple):
    """A request in two parts.

    Attributes:
        rest: the fields that no other request shares.
        cached: Google's name of the cached prefix; empty without one.
    """

    rest: JSON
    prefix: JSON
    cached: str


class GenerateContent:
    """A model behind ``generateContent``."""

    name = ""
    window = 0

    def __init__(self, access: Access, failures: Failures, options: Options) -> None:
        self.model = failures.model
        self.media = MediaSupport(kinds_of(self.model))
        self._access = access
        model_url = f"{access.base_url}/{access.api_version}/{quote(access.resource)}"
        self._url = f"{model_url}:streamGenerateContent?alt=sse"
        self._failures = failures
        self._options = options
        self._generation = generation_config(
            self.model, options.max_output_tokens, options.thinking_level
        )
        self._declarations = remember_last(declarations)
        self._http: aiohttp.ClientSession | None = None
        self._sdk: Sdk | None = None
        self._opening = asyncio.Lock()
        self._prefixes: dict[tuple[str, int, ToolChoice, tuple[str, ...]], Prefix] = {}
        self._server_tools = ServerTools(own_tools(options.server_tools, self.model), self.model)
        self._cached = CachedContents(self.open_sdk, failures)

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
        offered = self._server_tools.offered()
        if not tool_choice.opens_addresses:
            offered = tuple(name for name in offered if name not in OPENING)
        own = declared(offered) if tools else {}

        def write(own: JSON) -> Request:
            prefix = self._prefix(system, tools, tool_choice, own)
            cached = self._cached.use(prefix.json) if tool_choice == AUTO else ""
            chat = contents(
                messages, self.name, self.model, attachments.stand_in, combines=bool(own)
            )
            return Request(
                {"contents": chat, "generationConfig": self._generation}, prefix.fields, cached
            )

        answer = Answer(self.name, self.model, self._failures)
        events = self._events(write, own, attachments, answer)
        return stream_answer(
            events, answer, translating(self._failures), first_token_timeout_s, self._options
        )

    async def check(self) -> str:
        """Look the model up: that needs a working key and generates nothing."""
        with translating(self._failures):
            async with asyncio.timeout(self._options.check_timeout_s):
                name = await (await self.open_sdk()).display_name(self.model)
        answers = f"{name or self.model} answers"
        if own := ", ".join(self._server_tools.names):
            answers += f", with {own}"
        return answers

    async def aclose(self) -> None:
        """Close the connections."""
        await self._cached.aclose()
        if self._sdk is not None:
            await self._sdk.aclose()
        if self._http is not None:
            await self._http.close()

    async def open_sdk(self) -> Sdk:
        """Import google-genai, once, beside the event loop."""
        async with self._opening:
            if self._sdk is None:
                sdk = await asyncio.to_thread(import_module, "bot.providers.gemini.sdk")
                # Then no full collection looks at the SDK's thousands of classes.
                gc.freeze()
                session = open_sdk_session(
                    self._access.base_url, connect_s=CONNECT_TIMEOUT_S, tls=tls_context()
                )
                self._sdk = sdk.Sdk(self._access, session, tls_context())
            return self._sdk

    def _session(self) -> aiohttp.ClientSession:
        """One for all requests; the first one opens it, as it needs a running loop."""
        if self._http is None:
            self._http = open_session(
                self._access.base_url, connect_s=CONNECT_TIMEOUT_S, tls=tls_context()
            )
        return self._http

    def _prefix(
        self, system: str, tools: Sequence[ToolDefinition], tool_choice: ToolChoice, own: JSON
    ) -> Prefix:
        """The prefix of a request, written once for the same tools: 500 tools take 0.7 ms.

        Args:
            own: Google's own, as fields of a ``Tool``.
        """
        key = (system, id(tools), tool_choice, tuple(own))
        if (known := self._prefixes.get(key)) is not None:
            return known
        fields: JSON = {}
        if system:
            fields["systemInstruction"] = {"parts": [{"text": system}]}
        if tools:
            fields["tools"] = [functions | own for functions in self._declarations(tools)]
            fields["toolConfig"] = tool_config(tool_choice, combines=bool(own))
        if len(self._prefixes) == MOST_PREFIXES:
            self._prefixes.clear()
        # The prefix holds the tools, so no others can have their id.
        prefix = self._prefixes[key] = Prefix(fields, encode(fields), tools)
        return prefix

    async def _events(
        self, write: Callable[[JSON], Request], own: JSON, attachments: Attachments, answer: Answer
    ) -> AsyncGenerator[bytes]:
        async with (
            await self._open_combined(write, own, attachments, answer) as stream,
            aclosing(events_of(stream.content.iter_any())) as events,
        ):
            async for data in events:
                yield data

    async def _open_combined(
        self, write: Callable[[JSON], Request], own: JSON, attachments: Attachments, answer: Answer
    ) -> aiohttp.ClientResponse:
        """Send the request with Google's own tools; where Google refuses them, send it without them
        at once."""
        try:
            return await self._open(write(own), attachments)
        except ServiceError as error:
            if not (own and may_be_refusal(error)):
                raise
            cause = cause_of(error, self._failures)
        stream = await self._open(write({}), attachments)
        answer.refusal = self._server_tools.pause(cause)
        return stream

    async def _open(self, request: Request, attachments: Attachments) -> aiohttp.ClientResponse:
        """Send the name of the cached prefix; where Google refuses it, send the prefix itself at
        once."""
        rest, prefix, cached = request
        if not cached:
            return await self._send(rest | prefix, attachments)
        try:
            return await self._send(rest | {"cachedContent": cached}, attachments)
        except ServiceError as error:
            if error.code not in CACHE_REFUSALS:
                raise
        stream = await self._send(rest | prefix, attachments)
        self._cached.forget(cached)
        return stream

    async def _send(self, body: JSON, attachments: Attachments) -> aiohttp.ClientResponse:
        """Send the request; the stream after its 200.

        https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
        """
        data = attachments.body(encode(body))
        headers = {**await self._access.headers(), **HEADERS, **length_of(data)}
        response = await self._session().post(
            self._url, data=data, headers=headers, allow_redirects=False
        )
        if response.status == 200 and response.content_type == EVENT_STREAM:
            return response
        async with response:
            if response.status == 200:
                raise ValueError("no event stream")
            raise await read_refusal(response)


class Gemini(GenerateContent):
    """A Gemini model by an API key.

    Args:
        base_url: empty for Google's own.
    """

    name = "gemini"

    def __init__(
        self, api_key: str, model: str, base_url: str = "", options: Options = USUAL
    ) -> None:
        async def headers() -> Mapping[str, str]:
            return {"x-goog-api-key": api_key}

        failures = Failures(model, "GEMINI_API_KEY", api_key, options.asker)
        path = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
        account = {"api_key": api_key, "vertexai": False}
        super().__init__(
            Access(base_url or GOOGLE, API_VERSION, path, account, headers), failures, options
        )
        self.media = replace(self.media, uploads=UploadedFiles(self.open_sdk, failures))
