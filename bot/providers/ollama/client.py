"""Ollama's native chat over aiohttp.

``request.py`` writes requests, ``response.py`` reads responses, ``failures.py`` translates
exceptions. Ollama's SDK is not used: its models drop fields of a schema and of a call that they do
not know, its HTTP client becomes slow beyond a hundred requests in flight, and the rest of it, JSON
lines from one address, is little.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing, suppress
from urllib.parse import urlsplit

import aiohttp
from msgspec import DecodeError

from bot.errors import ModelError
from bot.http import open_session, read_beginning
from bot.providers import MediaSupport, Request, StreamEvent
from bot.providers.ollama.failures import OllamaFailures
from bot.providers.ollama.request import JSON, PROVIDER, chat, declarations, offer, thinking
from bot.providers.ollama.response import Answer
from bot.providers.retry_policy import (
    CONNECT_TIMEOUT_S,
    FIRST_TOKEN_TIMEOUT_S,
    MODEL_LOAD_TIMEOUT_S,
)
from bot.providers.shared.entry import USUAL, Options
from bot.providers.shared.failures import retry_after
from bot.providers.shared.request import Attachments, length_of, remember_last
from bot.providers.shared.streaming import Opened, lines_of, stream_answer, translating
from bot.transcript import encode
from toolset.web.decoding import decode_json

# A server without a setting has a window of so many tokens, and cuts off anything beyond without an
# error.
DEFAULT_WINDOW = 4_096
# The description of a model has so many bytes at most.
CARD_CAP = 4 * 1024 * 1024
PORT = 11434
# These are the ports of an address with a scheme.
PORTS = {"http": 80, "https": 443}
# A server listens at these addresses, and no client reaches it there.
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


class Ollama:
    """A model that Ollama serves.

    Args:
        host: as in OLLAMA_HOST.
        context_tokens: the window of the model; 0 is the server's default. The server cuts off
            anything beyond without an error.
        api_key: for a server that needs one, such as Ollama's own.
    """

    name = PROVIDER
    searches = False
    media = MediaSupport(frozenset(("image",)))

    def __init__(
        self,
        model: str,
        host: str = "",
        options: Options = USUAL,
        context_tokens: int = 0,
        api_key: str = "",
    ) -> None:
        self.model = model
        self.window = context_tokens or DEFAULT_WINDOW
        self._address = address_of(host)
        self._failures = OllamaFailures(
            model, "OLLAMA_API_KEY", api_key, options.asker, address=self._address
        )
        self._options = options
        self._thinking: JSON = {"think": thinking(model, options.thinking_level)}
        self._parameters = {"num_predict": options.max_output_tokens}
        if context_tokens:
            self._parameters["num_ctx"] = context_tokens
        self._headers = {"content-type": "application/json"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._declarations = remember_last(declarations)
        self._session: aiohttp.ClientSession | None = None
        self._loading: asyncio.Task[None] | None = None

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask once; raises as the Protocol says."""
        may_call = bool(offer(request.tools, request.tool_choice))
        answer = Answer(self.model, self._failures, request.messages, may_call=may_call)
        return stream_answer(self._send, request, answer, self._failures, self._options, _lines)

    async def check(self) -> str:
        """Look the model up; nothing is loaded or generated."""
        with translating(self._failures):
            async with (
                asyncio.timeout(FIRST_TOKEN_TIMEOUT_S),
                await self._post("/api/show", {"model": self.model}) as response,
            ):
                card = decode_json(await read_beginning(response, CARD_CAP), JSON)
        # Older servers name none.
        if "tools" not in card.get("capabilities", ["tools"]):
            raise self._failures.knows_no_tools()
        return f"{self.model} answers"

    async def aclose(self) -> None:
        """Close the connections."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def _send(self, request: Request, _answer: Answer) -> Opened:
        """The response, once the model is loaded; after a request that could not wait, loading goes
        on for the next."""
        attachments = Attachments(self.model)
        turns = chat(request.system, request.messages, self.model, attachments.stand_in)
        body: JSON = {"model": self.model, "messages": turns, "options": self._parameters}
        if offered := offer(request.tools, request.tool_choice):
            body["tools"] = self._declarations(offered)
        try:
            response = await self._post("/api/chat", body, self._thinking, attachments)
        except asyncio.CancelledError:
            if self._loading is None or self._loading.done():
                self._loading = asyncio.create_task(self._load())
            raise
        return response, response.content.iter_any()

    async def _load(self) -> None:
        """Load the model: Ollama stops loading when the request that needs it is cancelled.

        https://github.com/ollama/ollama/pull/4638
        """
        body = {"model": self.model, "messages": [], "options": self._parameters}
        with suppress(ModelError), translating(self._failures):
            async with (
                asyncio.timeout(MODEL_LOAD_TIMEOUT_S),
                await self._post("/api/chat", body) as response,
            ):
                await read_beginning(response)

    async def _post(
        self,
        path: str,
        body: JSON,
        thinking: JSON | None = None,
        attachments: Attachments | None = None,
    ) -> aiohttp.ClientResponse:
        """Send one request, and once more without ``think`` where the model refuses it."""
        if self._session is None:
            self._session = open_session(self._address, connect_s=CONNECT_TIMEOUT_S, is_local=True)
        json = encode(body | (thinking or {}))
        data = attachments.body(json) if attachments else json
        response = await self._session.post(
            self._address + path,
            data=data,
            headers=self._headers | length_of(data),
            allow_redirects=False,
        )
        if response.status == 200:
            return response
        async with response:
            message = _message_of(await read_beginning(response))
        if thinking and response.status == 400 and "think" in message:
            self._thinking = {}
            return await self._post(path, body, attachments=attachments)
        after = retry_after(response.headers)
        raise self._failures.refusal(response.status, message=message, after=after)


async def _lines(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(lines_of(pieces)) as lines:
        async for line in lines:
            if line.strip():
                yield line


def address_of(host: str) -> str:
    """The base URL for OLLAMA_HOST, in which scheme, host and port are optional, as in Ollama's own
    clients."""
    scheme, separator, _ = host.partition("://")
    usual = PORT
    if separator:
        usual = PORTS.get(scheme, PORT)
    else:
        host = f"http://{host}"
    parts = urlsplit(host)
    name = parts.hostname or "127.0.0.1"
    name = EVERYWHERE.get(name, name)
    if ":" in name:
        name = f"[{name}]"
    return f"{parts.scheme}://{name}:{parts.port or usual}{parts.path.rstrip('/')}"


def _message_of(body: bytes) -> str:
    try:
        return str(decode_json(body, JSON).get("error", ""))
    except DecodeError:
        return body.decode(errors="replace")
