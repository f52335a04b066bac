"""google-genai: its client, and its exceptions in a form that needs no import of it.

Importing it takes 0.25 s and 16 MB. A request with a key goes without it, so this module is
imported when something else is asked for: the card of a model, a cached content, or a request with
Google's credentials.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp
import httpx
from google import genai
from google.auth import exceptions as credentials
from google.genai import errors, types

from bot.providers.gemini.failures import ServiceError, SignInError
from bot.providers.gemini.relay import kept_streams
from bot.providers.gemini.request import JSON
from bot.providers.shared.request import Attachments

PLACEHOLDER = "-"  # the SDK insists on contents; extra_body replaces them


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise the SDK's exceptions as ours.

    Raises:
        ServiceError: Google refused.
        SignInError: there are no credentials, or Google's sign-in does not take them.
        ConnectionError: the answer broke off.
    """
    try:
        yield
    except errors.APIError as error:
        raise ServiceError(
            error.code or 0, error.details, error.response
        ) from None  # unchained: may quote the key
    except credentials.GoogleAuthError as error:
        is_outage = isinstance(error, credentials.TransportError)
        raise SignInError(
            type(error).__name__, is_outage=is_outage
        ) from None  # unchained: may quote credentials
    except errors.ContinuationInterruptedError as error:
        raise ConnectionError(type(error).__name__) from error


class Sdk:
    """The client for one model.

    Args:
        account: key, or project and credentials, as the SDK's client takes them.
        http: sends the requests.
        base_url: empty for Google's own.
    """

    def __init__(
        self,
        account: Mapping[str, Any],
        http: httpx.AsyncClient,
        tls: ssl.SSLContext,
        api_version: str,
        base_url: str,
    ) -> None:
        options = types.HttpOptions(
            api_version=api_version,
            base_url=base_url or None,
            httpx_async_client=http,
            client_args={"verify": tls},  # unused; the SDK would build another context in 30 ms
            async_client_args={"ssl": tls},
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        self._client = genai.Client(**account, http_options=options)

    async def display_name(self, model: str) -> str:
        """The name for people on a model's card."""
        with our_errors():
            return (await self._client.aio.models.get(model=model)).display_name or ""

    async def send(
        self, model: str, body: JSON, attachments: Attachments
    ) -> aiohttp.ClientResponse:
        """Send a request, and give its stream after the 200 as it comes."""
        config: types.GenerateContentConfigDict = {
            "http_options": {"extra_body": body},
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
        }
        with our_errors(), kept_streams(attachments) as kept:
            async for _ in await self._client.aio.models.generate_content_stream(
                model=model, contents=PLACEHOLDER, config=config
            ):
                pass  # the SDK yields only an answer that is no event stream
        if not kept:
            raise ValueError("no event stream")
        return kept[0]

    async def create_cached(self, model: str, prefix: JSON, ttl: str) -> str:
        """Keep a prefix; the name of the content."""
        with our_errors():
            content = await self._client.aio.caches.create(
                model=model, config={"ttl": ttl, "http_options": {"extra_body": prefix}}
            )
        if not content.name:
            raise ValueError("no name")
        return content.name

    async def extend_cached(self, name: str, ttl: str) -> None:
        with our_errors():
            await self._client.aio.caches.update(name=name, config={"ttl": ttl})

    async def delete_cached(self, name: str) -> None:
        with our_errors():
            await self._client.aio.caches.delete(name=name)

    def close(self) -> None:
        self._client.close()
