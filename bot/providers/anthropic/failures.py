"""The exceptions of the anthropic SDK and of the network, translated into ``ModelError``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import anthropic
import httpx2
from msgspec import DecodeError

from bot.errors import ModelError
from bot.providers.shared.failures import Failures, retry_after, root_of

OUTAGES = (
    anthropic.AnthropicError,
    aiohttp.ClientError,
    httpx2.HTTPError,
    httpx2.StreamError,
    OSError,
)
UNREADABLE = (anthropic.APIResponseValidationError, DecodeError, UnicodeError, json.JSONDecodeError)


@contextmanager
def translating(failures: Failures) -> Iterator[None]:
    """Translate exceptions raised inside; no text of a translation holds the key.

    Raises:
        ModelError: for each exception of the SDK, its transport and the network.
    """
    try:
        yield
    except anthropic.APIStatusError as error:
        # The error is not chained: the service may quote the key.
        raise _refusal(error, failures) from None
    except UNREADABLE as error:
        raise failures.unreadable() from error
    except OUTAGES as error:
        root = root_of(error)
        if isinstance(root, TimeoutError):
            raise failures.timed_out() from error
        raise failures.unreachable(root) from error


def cause_of(error: anthropic.APIStatusError, failures: Failures) -> str:
    """A refusal for the log, without the key."""
    return f"{error.status_code} {failures.quoted(_message_of(error))}"


def _refusal(error: anthropic.APIStatusError, failures: Failures) -> ModelError:
    message = _message_of(error)
    return failures.refusal(
        error.status_code, error.type or "", message, retry_after(error.response.headers)
    )


def _message_of(error: anthropic.APIStatusError) -> str:
    return error.api_message or json.dumps(error.body, ensure_ascii=False)
