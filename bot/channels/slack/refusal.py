"""What Slack's refusals mean for a delivery: later, or never."""

from __future__ import annotations

from bot.channels.slack.api import Answer
from bot.errors import DeliverLater, DeliveryRefused, TokenRefused

TOKEN_ERRORS = ("invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive")
PASSING_ERRORS = ("fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org")
FIRST_WAIT_S = 5.0


def is_passing(answer: Answer) -> bool:
    """Whether a refusal says nothing about what was asked, only about now."""
    return answer.retry_after > 0 or answer.error in (*TOKEN_ERRORS, *PASSING_ERRORS)


def failure(method: str, answer: Answer) -> DeliverLater | DeliveryRefused:
    """A refusal as the delivery's error."""
    if answer.retry_after:
        return DeliverLater(f"{method}: too many calls", answer.retry_after)
    if answer.error in TOKEN_ERRORS:
        return TokenRefused(f"{method}: SLACK_BOT_TOKEN was refused ({answer.error}), replace it")
    if answer.error in PASSING_ERRORS:
        return DeliverLater(f"{method}: {answer.error}", FIRST_WAIT_S)
    needed = f" (needs {answer.data['needed']})" if "needed" in answer.data else ""
    return DeliveryRefused(f"{method}: {answer.error}{needed}")
