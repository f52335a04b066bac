"""Gemini, by a key or on Vertex AI: one path, on which only address and authorization differ.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions, ``uploads.py`` has Google keep large files for a turn, and ``caching.py`` has Google
keep the beginning that many requests share. A request for an answer goes without google-genai,
whose way takes four times the CPU time; ``sdk.py`` has it for everything else.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import aiohttp

from bot.http import open_sdk_session, open_session, tls_context
from bot.providers import AUTO, MediaSupport, Request, StreamEvent, ToolChoice
from bot.providers.gemini.caching import CachedContents
from bot.providers.gemini.failures import GeminiFailures, ServiceError, read_refusal
from bot.providers.gemini.request import (
    FIELDS,
    JSON,
    OPENING,
    contents,
    declarations,
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
from bot.providers.shared.request import Attachments, Body, ServerTools, length_of, remember_last
from bot.providers.shared.streaming import Opened, stream_answer, translating
from bot.transcript import encode
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


class GenerateContent:
    """A model behind ``generateContent``.

    Args:
        base_url: without the version.
        resource: the model's path below the version.
        account: key, or project and credentials, as the SDK's client takes them.
    """

    name = ""
    window = 0

    def __init__(
        self,
        base_url: str,
        api_version: str,
        resource: str,
        failures: GeminiFailures,
        options: Options,
        **account: Any,
    ) -> None:
        self.model = failures.model
        self.media = MediaSupport(kinds_of(self.model))
        self._base_url = base_url
        self._api_version = api_version
        self._url = f"{base_url}/{api_version}/{quote(resource)}:streamGenerateContent?alt=sse"
        self._account = account
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

    async def _authorization(self) -> Mapping[str, str]:
        """The headers that authorize a request."""
        raise NotImplementedError

    @property
    def searches(self) -> bool:
        """Whether one of the vendor's own tools is offered."""
        return bool(self._server_tools.offered())

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        answer = Answer(self.name, self.model, self._failures)
        return stream_answer(self._send, request, answer, self._failures, self._options)

    async def check(self) -> str:
        """Look the model up: that needs a working key and generates nothing."""
        with translating(self._failures):
            async with asyncio.timeout(FIRST_TOKEN_TIMEOUT_S):
                name = await (await self.open_sdk()).display_name(self.model)
        return self._server_tools.answers(name or self.model)

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
                tls = tls_context()
                session = open_sdk_session(self._base_url, connect_s=CONNECT_TIMEOUT_S, tls=tls)
                self._sdk = sdk.Sdk(self._account, self._base_url, self._api_version, session, tls)
            return self._sdk

    def _prefix(self, request: Request, own: JSON) -> Prefix:
        """The prefix of a request, written once for the same tools: 500 tools take 0.7 ms.

        Args:
            own: Google's own, as fields of a ``Tool``.
        """
        system, tools, choice = request.system, request.tools, request.tool_choice
        key = (system, id(tools), choice, tuple(own))
        if (known := self._prefixes.get(key)) is not None:
            return known
        fields: JSON = {}
        if system:
            fields["systemInstruction"] = {"parts": [{"text": system}]}
        if tools:
            fields["tools"] = [functions | own for functions in self._declarations(tools)]
            fields["toolConfig"] = tool_config(choice, combines=bool(own))
        if len(self._prefixes) == MOST_PREFIXES:
            self._prefixes.clear()
        # The prefix holds the tools, so no others can have their id.
        prefix = self._prefixes[key] = Prefix(fields, encode(fields), tools)
        return prefix

    async def _send(self, request: Request, answer: Answer) -> Opened:
        """Send the request with Google's own tools, and with the name of the cached prefix; where
        Google refuses one of these, send it without at once."""
        attachments, choice = Attachments(self.model), request.tool_choice
        offered = self._server_tools.offered() if request.tools and choice.server_tools else ()
        own: JSON = {
            FIELDS[name]: {} for name in offered if choice.opens_addresses or name not in OPENING
        }
        refused_name = cause = ""
        while True:
            prefix, cached = self._prefix(request, own), ""
            is_long = len(prefix.json) >= self._cached.least_bytes
            if is_long and choice == AUTO and not refused_name:
                cached = self._cached.use(prefix.json)
            body: JSON = {
                "contents": contents(
                    request.messages, self.name, self.model, attachments.stand_in, bool(own)
                ),
                "generationConfig": self._generation,
                **({"cachedContent": cached} if cached else prefix.fields),
            }
            try:
                kept = prefix.json if cached else b""
                response = await self._post(attachments.body(encode(body), kept))
            except ServiceError as error:
                if cached and error.code in CACHE_REFUSALS:
                    refused_name = cached
                elif own and may_be_refusal(error):
                    own, refused_name, cause = {}, "", self._failures.cause_of(error)
                else:
                    raise
            else:
                if refused_name:
                    self._cached.forget(refused_name)
                if cause:
                    answer.refusal = self._server_tools.pause(cause)
                return response, response.content.iter_any()

    async def _post(self, data: bytes | Body) -> aiohttp.ClientResponse:
        """Send a request; the stream after its 200.

        https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
        """
        headers = {**await self._authorization(), **HEADERS, **length_of(data)}
        if self._http is None:
            # The first request opens it, as it needs a running loop.
            tls = tls_context()
            self._http = open_session(self._base_url, connect_s=CONNECT_TIMEOUT_S, tls=tls)
        response = await self._http.post(
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
        failures = GeminiFailures(model, "GEMINI_API_KEY", api_key, options.asker)
        path = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
        super().__init__(
            base_url or GOOGLE,
            API_VERSION,
            path,
            failures,
            options,
            api_key=api_key,
            vertexai=False,
        )
        self.media = replace(self.media, uploads=UploadedFiles(self.open_sdk, failures))

    async def _authorization(self) -> Mapping[str, str]:
        return {"x-goog-api-key": self._failures.key}
