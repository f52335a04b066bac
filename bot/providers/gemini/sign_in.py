"""Google's credentials for the requests to Vertex AI.

google-auth is imported with the first request, beside the event loop.
"""

from __future__ import annotations

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError
from google.auth.transport.requests import Request

from bot.providers.gemini.failures import SignInError

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


def sign_in_error(error: GoogleAuthError) -> SignInError:
    """Our exception for one of google-auth; without its text, which may quote credentials."""
    return SignInError(type(error).__name__, is_outage=isinstance(error, TransportError))


def renewed(credentials: Credentials | None) -> Credentials:
    """Credentials with a token that lasts some minutes; it blocks.

    Args:
        credentials: None for the application default credentials.

    Raises:
        SignInError: there are no credentials, or Google's sign-in does not take them.
    """
    try:
        if credentials is None:
            credentials, _ = google.auth.default(scopes=SCOPES)
        if not credentials.valid:
            credentials.refresh(Request())  # type: ignore[no-untyped-call]
    except GoogleAuthError as error:
        raise sign_in_error(error) from None
    return credentials
