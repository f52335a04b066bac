"""Approvers and reviewers of a place, in place of those of the settings."""

from __future__ import annotations

from bot.channels import PlaceSettings
from bot.features.approvals.review import Reviewers
from bot.pipeline.feature import Feature
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.transcript import Usage
from tests.bot.features.approvals.reviewing import NO, YES, named
from tests.bot.features.approvals.test_approvals import Scene
from tests.bot.features.approvals.test_review import acting


async def spend_nothing(model: str, usage: Usage) -> None:
    """Nothing is counted."""


class Given(Feature):
    """Gives the same settings everywhere."""

    def __init__(self, settings: PlaceSettings) -> None:
        self._settings = settings

    def settings_of(self, conversation: str, person: str) -> PlaceSettings:
        return self._settings


async def test_a_place_has_approvers_of_its_own(store: Store) -> None:
    """Those of the settings decide nothing there."""
    scene = Scene(store, Step("Launched"), settings={"approvers": ("boss",)})
    features = scene.harness.runner.services.features
    features.install([Given(PlaceSettings(approvers=("chief",)))])
    await scene.say("launch it", "m1")
    await scene.press(True, "p1", "boss")
    assert scene.launch.contexts == []
    await scene.press(True, "p2", "chief")
    assert len(scene.launch.contexts) == 1


async def test_a_place_has_reviewers_of_its_own() -> None:
    """None where it names none; those of the settings where it says nothing."""
    models: dict[str, Scripted] = named(Scripted([YES]))
    reviewers = Reviewers(models, "REVIEW", Metrics())
    models["z"] = Scripted([NO])
    for names, voted in (((), []), (("z",), ["z"]), (None, ["a"])):
        votes = await reviewers.vote(acting(), spend_nothing, names)
        assert [vote.reviewer for vote in votes] == voted
