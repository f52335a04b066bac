"""The variables of the limits."""

from __future__ import annotations

import pytest

from bot.errors import SettingsError
from bot.features.limits.settings import Config
from bot.settings import config_beside, load
from tests.bot.harness import UNLIMITED


def test_limits_are_on_and_can_be_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer's bill has an end; 0 is no limit."""
    assert all(config_beside(Config, load()).model_dump().values())
    for name in UNLIMITED:
        monkeypatch.setenv(name.upper(), "0")
    assert config_beside(Config, load()).model_dump() == UNLIMITED


@pytest.mark.parametrize(
    ("variable", "value"), [("DAILY_TOKEN_LIMIT", "-1"), ("DAILY_USER_MESSAGES", "few")]
)
def test_a_wrong_limit_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """As every other variable is."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as refused:
        config_beside(Config, load())
    assert refused.value.variable == variable
