"""Choices: the tool that offers them. What shows them, and takes a press, is every answer's
(``toolset.shown``, ``bot.channels.replies``)."""

from __future__ import annotations

from bot.pipeline.feature import Feature
from bot.pipeline.services import Services


class Choices(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        """It needs nothing."""


FEATURE = Choices
