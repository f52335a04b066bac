"""The exceptions of the anthropic SDK and of the network, translated into ``ModelError``."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from functools import partial

import anthropic

from bot.errors import ModelError
from bot.providers.shared.failures import Failures, retry_after
from bot.providers.shared.generated_sdk import translating_sdk


def translating(failures: Failures) -> AbstractContextManager[None]:
    """Translate exceptions raised inside, as ``translating_sdk``."""
    return translating_sdk(anthropic, failures, partial(_refusal, failures=failures))


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
