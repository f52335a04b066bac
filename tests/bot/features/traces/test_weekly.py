"""The operator's numbers of a week."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from bot.errors import SettingsError
from bot.features.traces.feature import REPORT_S
from bot.features.traces.settings import Config
from bot.features.traces.store import Traces
from bot.features.traces.weekly import WeeklyReport
from bot.providers.scripted import Step
from bot.settings import Settings
from bot.store import Store
from tests.bot.harness import Harness

WEEKLY = {"weekly_report": True, "trace_words_hours": 0}
OPERATOR = "mailbox:notices:OPS"


def last_monday() -> int:
    """The last Monday, at nine (UTC), in milliseconds."""
    now = datetime.now(UTC) - timedelta(hours=9)
    monday = (now - timedelta(days=now.weekday())).replace(hour=9, minute=0, second=0)
    return round(monday.timestamp() * 1000)


async def test_the_report_goes_to_the_operator_once_a_week(store: Store) -> None:
    """Whichever process looks first; the next one comes on Monday at nine."""
    harness = Harness(store, [Step("Hi.")], settings=WEEKLY, alert_to="mailbox:OPS")
    services, traces = harness.runner.services, Traces(store, 7)
    await harness.say("hello", "m1")
    await services.features.aclose()
    (send,) = [work for _, seconds, work in services.features.every if seconds == REPORT_S]
    sent = []
    for at in (last_monday() - 60_000, last_monday() - 1_000, last_monday() + 60_000):
        await WeeklyReport(services, traces, partial(int, at)).send()
        await harness.runner.process(OPERATOR)
        sent.append(sum("people" in text for text in harness.box.texts))
    assert sent == [1, 1, 2]
    await send()  # this week's was sent
    await harness.runner.process(OPERATOR)
    _, *reports = harness.box.texts
    assert len(reports) == 2
    assert reports[0].startswith(
        "The last 7 days: 1 people, 1 turns, 1 answers, 1 of them within 5 seconds."
    )
    assert "Failures: none.\nWhat people did not get: none.\n" in reports[0]


@pytest.mark.parametrize(("days", "hours"), [(1, 24), (29, 696), (0, 720)])
def test_words_are_kept_no_longer_than_facts(days: int, hours: int, settings: Settings) -> None:
    """Nothing could show them, nor count how many there are."""
    Config(trace_days=days, trace_words_hours=hours).check(settings, ())
    if days:
        with pytest.raises(SettingsError, match=f"TRACE_WORDS_HOURS: .*write {hours} or less"):
            Config(trace_days=days, trace_words_hours=hours + 1).check(settings, ())


@pytest.mark.parametrize(
    ("days", "alert_to", "mend"),
    [(7, "", "it is sent to ALERT_TO"), (3, "line:U1", "set TRACE_DAYS=7")],
)
def test_a_report_that_could_say_nothing_stops_the_start(
    days: int, alert_to: str, mend: str, settings: Settings
) -> None:
    """Without a recipient, or without a week of facts."""
    with pytest.raises(SettingsError, match=mend):
        Config(weekly_report=True, trace_days=days).check(
            settings.model_copy(update={"alert_to": alert_to}), ()
        )
