"""The exceptions of the anthropic SDK and of the network, translated into ``ModelError``."""

from __future__ import annotations

import json

import anthropic

from bot.errors import ModelError
from bot.providers.shared.failures import retry_after
from bot.providers.shared.generated_sdk import SdkFailures, outages_of


class AnthropicFailures(SdkFailures):
    """The failures of one model."""

    refusals = (anthropic.APIStatusError,)
    outages = outages_of(anthropic)

    def refused(self, error: anthropic.APIStatusError) -> ModelError:
        """By the fields of the error."""
        after = retry_after(error.response.headers)
        return self.refusal(error.status_code, error.type or "", _message_of(error), after)

    def cause_of(self, error: anthropic.APIStatusError) -> str:
        """A refusal for the log, without the key."""
        return f"{error.status_code} {self.quoted(_message_of(error))}"


def _message_of(error: anthropic.APIStatusError) -> str:
    return error.api_message or json.dumps(error.body, ensure_ascii=False)
