"""google-genai for what is not in every turn: the card of a model, cached contents, files.

Importing it takes 0.25 s and 16 MB. A request for an answer goes without it, so this module is
imported when something else is asked for. Its exceptions leave in a form that needs no import.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NamedTuple

import aiohttp
from google import genai
from google.auth.exceptions import GoogleAuthError
from google.genai import errors, types

from bot.providers.gemini.failures import ServiceError
from bot.providers.gemini.request import JSON
from bot.providers.gemini.sign_in import sign_in_error


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise the SDK's exceptions as ours.

    Raises:
        ServiceError: Google refused.
        SignInError: there are no credentials, or Google's sign-in does not take them.
        ConnectionError: the answer broke off.
        ValueError: what Google answered cannot be read.
    """
    try:
        yield
    except errors.APIError as error:
        # Unchained, as the text may quote the key.
        raise ServiceError(error.code or 0, error.details, error.response) from None
    except GoogleAuthError as error:
        raise sign_in_error(error) from None
    except errors.ContinuationInterruptedError as error:
        raise ConnectionError(type(error).__name__) from error
    except KeyError as error:
        raise ValueError("a field is missing") from error


class StoredFile(NamedTuple):
    """A file at Google; ``name`` is ``files/…``."""

    name: str
    uri: str
    state: str


class Sdk:
    """The client for one model.

    Args:
        account: key, or project and credentials, as the SDK's client takes them.
        base_url: without the version.
        session: sends the requests; closed with this client.
    """

    def __init__(
        self,
        account: Mapping[str, Any],
        base_url: str,
        api_version: str,
        session: aiohttp.ClientSession,
        tls: ssl.SSLContext,
    ) -> None:
        options = types.HttpOptions(
            api_version=api_version,
            base_url=base_url,
            headers={"accept-encoding": "identity"},
            aiohttp_client=session,
            # Neither is used; the SDK would build two more contexts, in 30 ms each.
            client_args={"verify": tls},
            async_client_args={"ssl": tls},
            retry_options=types.HttpRetryOptions(attempts=1),
        )
        self._base_url = base_url
        self._session = session
        self._client = genai.Client(**account, http_options=options)

    async def display_name(self, model: str) -> str:
        """The name for people on a model's card."""
        with our_errors():
            return (await self._client.aio.models.get(model=model)).display_name or ""

    async def create_cached(self, model: str, prefix: JSON, ttl: str) -> str:
        """Keep a prefix; the name of the content."""
        with our_errors():
            content = await self._client.aio.caches.create(
                model=model, config={"ttl": ttl, "http_options": {"extra_body": prefix}}
            )
        if not content.name:
            raise ValueError("no name")
        return content.name

    async def extend_cached(self, name: str, ttl: str) -> str:
        """Keep a content for longer; its name."""
        with our_errors():
            await self._client.aio.caches.update(name=name, config={"ttl": ttl})
        return name

    async def upload(self, data: bytes, mime: str) -> StoredFile:
        """Upload a file, in pieces of 8 MiB."""
        with our_errors():
            file = await self._client.aio.files.upload(
                file=BytesIO(data),
                # The address for the pieces is at our host: only the path is Google's word.
                config={"mime_type": mime, "http_options": {"base_url": self._base_url}},
            )
        return _stored(file)

    async def file(self, name: str) -> StoredFile:
        """A file as it is now."""
        with our_errors():
            return _stored(await self._client.aio.files.get(name=name))

    async def delete_file(self, name: str) -> None:
        with our_errors():
            await self._client.aio.files.delete(name=name)

    async def aclose(self) -> None:
        self._client.close()
        await self._session.close()


def _stored(file: types.File) -> StoredFile:
    if not file.name or not file.uri:
        raise ValueError("a file without a name")
    return StoredFile(file.name, file.uri, str(file.state.value if file.state else ""))
