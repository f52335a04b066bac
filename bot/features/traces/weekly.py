"""The report of the week, for the operator (``ALERT_TO``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

from bot.clock import DAY_S
from bot.features.traces.settings import DAYS
from bot.features.traces.store import Traces
from bot.features.traces.summaries import report
from bot.pipeline.services import Services

NINE_MS = 9 * 3_600_000  # the week of reports begins on Mondays at this time
KEPT_S = 8 * DAY_S


class WeeklyReport:
    """Sends the report once in a week, from Monday at nine on.

    Args:
        clock: milliseconds since the epoch.
    """

    def __init__(self, services: Services, traces: Traces, clock: Callable[[], int]) -> None:
        self._services = services
        self._traces = traces
        self._clock = clock

    async def send(self) -> None:
        """Send it, unless that was done this week."""
        services, now = self._services, self._clock()
        year, week, _ = date.fromisoformat(services.days.of(now - NINE_MS)).isocalendar()
        name = f"weekly_report_{year}_{week:02}"
        if await services.store.kv.get(name) is None:
            await services.alerts.post(name, await self._text(now))
            await services.store.kv.set(name, b"sent", KEPT_S)

    async def _text(self, now: int) -> str:
        found = await report(self._traces, DAYS, now - DAYS * DAY_S * 1000)
        return self._sentence(
            "weekly",
            days=DAYS,
            people=found.people,
            turns=found.turns,
            answers=found.answers,
            soon=found.soon,
            usd=f"{found.usd:.2f}",
            good=found.good,
            bad=found.bad,
            failures=self._counts(found.failures),
            gaps=self._counts(found.gaps),
        )

    def _counts(self, counts: Mapping[str, int]) -> str:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        return listed or self._sentence("nothing")

    def _sentence(self, key: str, **values: object) -> str:
        language = self._services.defaults.language
        return self._services.texts.get(f"traces.{key}", language, **values)
