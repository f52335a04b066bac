"""The list of features.

The order is that in which their hooks are called: a later one sees what an earlier one has made of
an answer or a delivery.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.conversation.feature import Feature
from bot.conversation.services import Services
from bot.features import feedback, lists, polls

FEATURES: tuple[Callable[[Services], Feature], ...] = (
    feedback.Feedback,
    polls.Polls,
    lists.Lists,
)
