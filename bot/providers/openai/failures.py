"""Every way in which the openai SDK and the network fail, as what it means to the caller."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import httpx2
import openai
from msgspec import DecodeError

from bot.errors import ModelError
from bot.providers.shared.failures import Failures, retry_after, root_of

ILL_WRITTEN = "does not match the expected"  # llama.cpp, of what its model wrote in the place of a call
OUTAGES = (openai.OpenAIError, aiohttp.ClientError, httpx2.HTTPError, httpx2.StreamError, OSError)


@contextmanager
def translating(failures: Failures) -> Iterator[None]:
    """Turn what is raised inside into ``bot.errors``; no text of it holds the key.

    Raises:
        ModelError: whatever went wrong.
    """
    try:
        yield
    except openai.APIStatusError as error:  # not chained: the service may quote the key
        raise _refusal(error, failures) from None
    except (openai.APIResponseValidationError, DecodeError, UnicodeError, json.JSONDecodeError) as error:
        raise failures.unreadable() from error
    except OUTAGES as error:
        root = root_of(error)
        raise (failures.timed_out() if isinstance(root, TimeoutError) else failures.unreachable(root)) from error


def is_hung_up(error: BaseException) -> bool:
    """Whether the other end closed the connection without a word."""
    return isinstance(root_of(error), aiohttp.ServerDisconnectedError | ConnectionResetError)


def words_of(error: openai.APIError) -> str:
    """All that a server says about an error, in whatever form it says it."""
    return error.body if isinstance(error.body, str) else json.dumps(error.body, ensure_ascii=False)


def kind_of(code: object, kind: object, words: str) -> str:
    """What an error is called: its code or, where that only repeats the status, its type; for some, their words."""
    if ILL_WRITTEN in words:
        return "tool_use_failed"
    named = str(code or "")
    return str(kind or "") if not named or named.isdecimal() else named


def _refusal(error: openai.APIStatusError, failures: Failures) -> ModelError:
    message = error.body.get("message") if isinstance(error.body, dict) else None
    words = message if isinstance(message, str) else words_of(error)
    kind = kind_of(error.code, error.type, words)
    return failures.refusal(error.status_code, kind, words, retry_after(error.response.headers))
