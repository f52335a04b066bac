"""Google's credentials: the header that a request to Vertex AI carries.

google-auth is imported with the first request, beside the event loop.
"""

from __future__ import annotations

import asyncio

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request

from bot.providers.gemini.failures import SignInError

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def sign_in_error(error: GoogleAuthError) -> SignInError:
    """Our exception for one of google-auth; without its text, which may quote credentials."""
    return SignInError(type(error).__name__, is_outage=isinstance(error, TransportError))


class SignIn:
    """One account.

    Args:
        credentials: None for the application default credentials, which the first request looks up.
    """

    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._renewing = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """The headers of a request, with a token that lasts some minutes.

        Raises:
            SignInError: there are no credentials, or Google's sign-in does not take them.
        """
        async with self._renewing:
            if self._credentials is None or not self._credentials.valid:
                try:
                    self._credentials = await asyncio.to_thread(_renewed, self._credentials)
                except GoogleAuthError as error:
                    raise sign_in_error(error) from None
        headers: dict[str, str] = {}
        self._credentials.apply(headers)  # type: ignore[no-untyped-call]
        return headers


def _renewed(credentials: Credentials | None) -> Credentials:
    """Credentials with a token; it blocks."""
    if credentials is None:
        credentials, _ = google.auth.default(scopes=SCOPES)
    credentials.refresh(Request())  # type: ignore[no-untyped-call]
    return credentials
