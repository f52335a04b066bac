"""The exceptions of the openai SDK and of the network, translated into ``ModelError``."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import openai

from bot.errors import ModelError
from bot.providers.shared.failures import retry_after
from bot.providers.shared.generated_sdk import SdkFailures, outages_of, root_of

# llama.cpp writes this about a malformed call of its model.
ILL_WRITTEN = "does not match the expected"


class OpenAIFailures(SdkFailures):
    """The failures of one model."""

    refusals = (openai.APIStatusError,)
    outages = outages_of(openai)

    def refused(self, error: openai.APIStatusError) -> ModelError:
        """By the fields of the error."""
        message = message_of(error)
        if isinstance(error.body, dict) and isinstance(error.body.get("message"), str):
            message = error.body["message"]
        kind = kind_of(error.code, error.type, message)
        return self.refusal(error.status_code, kind, message, retry_after(error.response.headers))


def is_disconnect(error: BaseException) -> bool:
    """Whether the server closed the connection without a response."""
    return isinstance(root_of(error), aiohttp.ServerDisconnectedError | ConnectionResetError)


def message_of(error: openai.APIError) -> str:
    """The body of an error as one text, whatever its form."""
    if isinstance(error.body, str):
        return error.body
    return json.dumps(error.body, ensure_ascii=False)


def kind_of(code: Any, kind: Any, message: str) -> str:
    """The kind of an error: its code, or its type where the code is a status; for llama.cpp by the
    message."""
    if ILL_WRITTEN in message:
        return "tool_use_failed"
    named = str(code or "")
    return str(kind or "") if not named or named.isdecimal() else named
