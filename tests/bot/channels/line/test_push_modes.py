"""What LINE_PUSH does is said at the start and by kaiwa doctor."""

from __future__ import annotations

import pytest

from bot.channels.line import describe
from tests.bot.channels.line.rig import UNREACHABLE, line_config


@pytest.mark.parametrize(
    ("push", "words"),
    [
        ("auto", "late answers are pushed while the month's quota lasts, then fetched by a button"),
        ("always", "all answers are pushed while the month's quota lasts"),
        ("never", "late answers are fetched by a button"),
    ],
)
def test_the_report_says_how_late_answers_come(push: str, words: str) -> None:
    """In the line of the channel, with the variable that decides it."""
    detail = describe(line_config(UNREACHABLE, line_push=push)).detail
    assert detail == f"answers everybody at /webhooks/line; {words} (LINE_PUSH={push})"
