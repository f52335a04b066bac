"""Lines of the report, and what traffic tells of a secret."""

from __future__ import annotations

import pytest

from bot.channels.traffic import Traffic
from bot.checks import CheckResult, ago

NOW = 1_763_700_000_000
MINUTE = 60_000


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (-5, "0 s"),
        (59_999, "59 s"),
        (MINUTE, "1 min"),
        (90 * MINUTE, "1 h"),
        (49 * 60 * MINUTE, "2 d"),
    ],
)
def test_a_time_is_told_in_the_largest_unit_that_fits(before: int, words: str) -> None:
    """A clock that is a little ahead does no harm."""
    assert ago(NOW - before, NOW) == f"{words} ago"


def test_a_quiet_channel_is_in_order() -> None:
    """It may be new."""
    assert Traffic().check("LINE traffic", "SECRET", NOW) == CheckResult(
        "ok",
        "LINE traffic",
        "last webhook not noted, last delivery not noted, bad signatures: none",
    )


@pytest.mark.parametrize(
    ("last_webhook", "result", "fix"),
    [
        (0, "warning", "SECRET is probably wrong"),
        (NOW - 3 * MINUTE, "warning", "SECRET is probably wrong"),
        (NOW - MINUTE, "ok", ""),
    ],
)
def test_bad_signatures_speak_against_the_secret_until_a_good_one_comes(
    last_webhook: int, result: str, fix: str
) -> None:
    """Strangers post to any address; a secret that has let something in since is right."""
    found = Traffic(last_webhook, 0, 3, NOW - 2 * MINUTE).check("LINE traffic", "SECRET", NOW)
    assert (found.result, found.fix) == (result, fix)
    assert found.detail.endswith("bad signatures: 3")
