"""How a model is asked, whoever serves it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S, REQUEST_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for every request.

    Attributes:
        max_output_tokens: of one answer.
        thinking_level: ``minimal``, ``low``, ``medium`` or ``high``.
        asker: the variable that names the model.
        first_token_timeout_s: seconds until the first event of an answer.
        request_timeout_s: seconds until its last.
    """

    max_output_tokens: int = 2048
    thinking_level: str = "low"
    asker: str = "MODEL"
    first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S
    request_timeout_s: float = REQUEST_TIMEOUT_S


USUAL = Options()
