"""The variables of approvals: what a start refuses, and what it and the doctor say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.checks import CheckResult
from bot.cli.prepare import load_settings
from bot.errors import SettingsError
from bot.features.approvals.settings import Config
from bot.ops.variable_names import check_variables
from bot.settings import Settings, config_beside, load
from tests.bot.ops.examining import found

LINE = {"LINE_CHANNEL_SECRET": "x", "LINE_CHANNEL_ACCESS_TOKEN": "x"}
SLACK = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "x"}
SOCKET_MODE = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
DECIDE = {"REVIEWERS": "ollama:a", "REVIEW_MODE": "decide", "REVIEW_TOOLS": "launch"}
TO_ASK = "set APPROVAL_MODE=ask to have people decide"


def set_all(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Set variables of the environment."""
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)


def started() -> Config:
    """The variables, as a start reads them."""
    return config_beside(Config, load_settings())


@pytest.mark.parametrize(
    ("variables", "way_in"),
    [
        (LINE, "LINE"),
        (SLACK, "Slack"),
        (SOCKET_MODE, "Slack"),
        ({"HOST": "0.0.0.0"}, "HOST=0.0.0.0"),  # noqa: S104 -- nothing listens
        ({"DYNO": "web.1"}, "the dyno's address"),
    ],
    ids=["LINE", "Slack", "Socket Mode", "HOST", "DYNO"],
)
def test_nobody_approves_in_the_place_of_strangers(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], way_in: str
) -> None:
    """Where others can write, calls that act are not made unasked, unless the operator says so
    twice."""
    set_all(monkeypatch, {"APPROVAL_MODE": "auto_approve"} | variables)
    with pytest.raises(
        SettingsError, match=rf"^APPROVAL_MODE: .*\({way_in}\).*AUTO_APPROVE_ANYWAY=1$"
    ):
        started()
    monkeypatch.setenv("AUTO_APPROVE_ANYWAY", "1")
    assert started().approval_mode == "auto_approve"


def test_reviewers_decide_only_where_nobody_else_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that convinces them all would run a call: refused as automatic approval is."""
    set_all(monkeypatch, DECIDE)
    assert started().review_tools == ("launch",)
    set_all(monkeypatch, LINE)
    with pytest.raises(
        SettingsError, match=r"^REVIEW_MODE: decide is refused .*\(LINE\).*AUTO_APPROVE_ANYWAY=1$"
    ):
        started()
    monkeypatch.setenv("REVIEW_MODE", "veto")
    assert started().review_mode == "veto"
    monkeypatch.setenv("REVIEW_MODE", "decide")
    monkeypatch.setenv("AUTO_APPROVE_ANYWAY", "1")
    assert started().review_mode == "decide"


@pytest.mark.parametrize(
    ("variables", "refused"),
    [
        ({"REVIEW_MODE": "veto"}, "REVIEWERS"),
        ({"REVIEW_MODE": "decide", "REVIEW_TOOLS": "launch"}, "REVIEWERS"),
        ({"REVIEW_MODE": "decide", "REVIEWERS": "ollama:a"}, "REVIEW_TOOLS"),
        ({"REVIEW_MODE": "always"}, "REVIEW_MODE"),
    ],
)
def test_a_review_without_effect_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], refused: str
) -> None:
    """A mode that needs what is not there, and one that there is not."""
    set_all(monkeypatch, variables)
    with pytest.raises(SettingsError) as error:
        started()
    assert error.value.variable == refused


def test_places_may_have_the_reviewers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Then a mode has an effect there."""
    places = tmp_path / "places.toml"
    places.write_text('[[place]]\nreviewers = "ollama:a"\n', "utf-8")
    set_all(monkeypatch, {"REVIEW_MODE": "veto", "PLACES": str(places)})
    assert started().review_mode == "veto"


def test_who_is_alone_approves_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a desktop without channels there is nobody else; rejecting all is safe anywhere."""
    monkeypatch.setenv("APPROVAL_MODE", "auto_approve")
    assert started().approval_mode == "auto_approve"
    monkeypatch.setenv("APPROVAL_MODE", "auto_reject")
    set_all(monkeypatch, LINE)
    assert started().approval_mode == "auto_reject"


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {"APPROVAL_MODE": "auto_approve"},
            CheckResult(
                "warning",
                "approvals",
                "auto_approve: every call that acts is made, and nobody is asked",
                TO_ASK,
            ),
        ),
        (
            {"APPROVAL_MODE": "auto_reject"},
            CheckResult("ok", "approvals", "auto_reject: every call that acts is rejected", TO_ASK),
        ),
        (
            DECIDE | {"REVIEWERS": "ollama:a,ollama:a"},
            CheckResult(
                "warning",
                "reviewers",
                "decide: ollama:a; if all are in favour, nobody is asked about launch",
                "unset REVIEWERS to ask people without votes",
            ),
        ),
    ],
)
async def test_it_is_told_what_is_not_asked(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    line: CheckResult,
) -> None:
    """Every mode but the usual one, at the start and by the doctor."""
    assert check_variables(settings) == []
    set_all(monkeypatch, variables)
    settings = load()
    assert check_variables(settings) == [line]
    assert await found(settings, line.name) == line
