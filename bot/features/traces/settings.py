"""The settings of traces."""

from __future__ import annotations

from pydantic import Field

from bot.settings import NO_SECRET, FeatureConfig, ModelNames, OwnSecret


class Config(FeatureConfig):
    """Fields are the variables in lower case.

    Attributes:
        trace_days: how long facts are kept; 0: nothing is traced.
        trace_words_hours: how long words are kept, 0: not at all. None: for a day where neither
            LINE nor Slack is on, else not at all.
        inside_token: who has it may read words on the page ``/inside``.
    """

    trace_days: int = Field(default=7, ge=0, le=90)
    trace_words_hours: int | None = Field(default=None, ge=0, le=720)
    inside_token: OwnSecret = NO_SECRET
    fallback_models: ModelNames = ()
    reviewers: ModelNames = ()
