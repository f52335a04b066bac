"""The services a process of Kaiwa talks to, all on this machine, and the settings that lead
there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes import line_events, slack_events
from tests.fakes.gemini import KEY, GeminiFake, gemini_fake
from tests.fakes.line import LineFake, line_fake
from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.slack import BOT_TOKEN, SlackFake, slack_fake
from tests.fakes.wttr import WttrFake


@pytest.fixture
def gemini() -> Iterator[GeminiFake]:
    with gemini_fake() as fake:
        yield fake


@pytest.fixture
def wttr() -> Iterator[WttrFake]:
    with WttrFake().served() as fake:
        yield fake


@pytest.fixture
def open_meteo() -> Iterator[OpenMeteoFake]:
    with OpenMeteoFake().served() as fake:
        yield fake


@pytest.fixture
def line() -> Iterator[LineFake]:
    with line_fake() as fake:
        yield fake


@pytest.fixture
def slack() -> Iterator[SlackFake]:
    with slack_fake() as fake:
        yield fake


def everything_on(line: LineFake, slack: SlackFake, gemini: GeminiFake) -> dict[str, str]:
    """The variables of a process that has LINE, Slack and Gemini."""
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "LINE_CHANNEL_SECRET": line_events.SECRET,
        "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
        "LINE_API_BASE_URL": line.base_url,
        "LINE_DATA_API_BASE_URL": line.base_url,
        "SLACK_SIGNING_SECRET": slack_events.SECRET,
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_API_BASE_URL": slack.api_base_url,
    }
