"""The list of features.

The order is that in which their hooks are called: a later one sees what an earlier one has made of
an answer or a delivery. ``limits`` is first on the page about a person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from bot.checks import CheckResult
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services
from bot.settings import FeatureConfig, Settings, config_beside

ReadConfig = Callable[[type[FeatureConfig]], FeatureConfig]

FEATURES: tuple[str, ...] = (
    "limits",
    "places",
    "feedback",
    "polls",
    "forgetting",
    "edits",
    "stop",
    "lists",
    "choices",
    "reminders",
    "memory",
    "interpreter",
    "background",
    "quotes",
    "summaries",
    "attachments",
    "late_answers",
    "courtesy",
    "traces",
    "approvals",
    "spans",
)


def load_configs() -> dict[str, type[FeatureConfig]]:
    """By feature, the model of its variables: ``Config`` of its file ``settings``, where it has
    one."""
    paths = {name: f"{__package__}.{name}.settings" for name in FEATURES}
    return {name: import_module(path).Config for name, path in paths.items() if find_spec(path)}


def check_features(settings: Settings, ways_in: Sequence[str]) -> None:
    """Check every feature's variables.

    Args:
        ways_in: how others can reach Kaiwa, as people read it.

    Raises:
        SettingsError: naming the variable, and the fix.
    """
    for config in load_configs().values():
        config_beside(config, settings).check(settings, ways_in)


def describe_features(settings: Settings) -> list[CheckResult]:
    """The features' lines of the start report; it raises like ``check_features``."""
    found: list[CheckResult] = []
    for config in load_configs().values():
        found += config_beside(config, settings).describe(settings)
    return found


def load_features(read: ReadConfig) -> list[Callable[[Services], Feature]]:
    """What makes each feature: ``FEATURE`` of its file ``feature``.

    Args:
        read: reads the settings of those that have some.
    """
    configs, makes = load_configs(), []
    for name in FEATURES:
        make = import_module(f"{__package__}.{name}.feature").FEATURE
        makes.append(partial(make, config=read(configs[name])) if name in configs else make)
    return makes
