"""The list of features.

The order is that in which their hooks are called: a later one sees what an earlier one has made of
an answer or a delivery. ``limits`` is first on the page about a person.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from bot.pipeline.feature import Feature
from bot.pipeline.services import Services

FEATURES: tuple[str, ...] = (
    "limits",
    "feedback",
    "polls",
    "lists",
    "reminders",
    "memory",
    "interpreter",
    "background",
    "quotes",
    "late_answers",
    "courtesy",
)


def load_features() -> list[Callable[[Services], Feature]]:
    """What makes each feature: ``FEATURE`` of its file ``feature``."""
    return [import_module(f"{__package__}.{name}.feature").FEATURE for name in FEATURES]
