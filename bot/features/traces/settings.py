"""The settings of traces."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from bot.clock import DAY_S, HOUR_S
from bot.errors import SettingsError
from bot.settings import NO_SECRET, FeatureConfig, Settings
from bot.settings.types import ModelNames, OwnSecret

DAYS = 7  # of a weekly report


class Config(FeatureConfig):
    """Fields are the variables in lower case.

    Attributes:
        trace_days: how long facts are kept; 0: nothing is traced.
        trace_words_hours: how long words are kept, 0: not at all. None: for a day where neither
            LINE nor Slack is on, else not at all.
        weekly_report: ALERT_TO gets what ``kaiwa report`` counts, once a week.
        inside_token: who has it may read words on the page ``/inside``.
    """

    trace_days: int = Field(default=7, ge=0, le=90)
    trace_words_hours: int | None = Field(default=None, ge=0, le=720)
    weekly_report: bool = False
    inside_token: OwnSecret = NO_SECRET
    fallback_models: ModelNames = ()
    reviewers: ModelNames = ()

    def check(self, settings: Settings, ways_in: Sequence[str]) -> None:
        """Refuse words without their facts, and a report that nobody would get, or that would have
        nothing to say."""
        hours = self.trace_days * DAY_S // HOUR_S
        if hours and (self.trace_words_hours or 0) > hours:
            fix = f"words are kept no longer than facts: write {hours} or less, or raise TRACE_DAYS"
            raise SettingsError("TRACE_WORDS_HOURS", fix)
        if not self.weekly_report:
            return
        if not settings.alert_to:
            fix = "it is sent to ALERT_TO, which is not set; set that, or leave this at 0"
            raise SettingsError("WEEKLY_REPORT", fix)
        if self.trace_days < DAYS:
            fix = f"it needs facts of {DAYS} days: set TRACE_DAYS={DAYS}, or leave this at 0"
            raise SettingsError("WEEKLY_REPORT", fix)
