"""The settings of the background."""

from __future__ import annotations

from typing import Literal

from bot.settings import FeatureConfig


class Config(FeatureConfig):
    """Fields are the variables in lower case.

    Attributes:
        group_memory: unmentioned messages of groups are kept as background.
    """

    group_memory: Literal["off", "on"] = "off"
