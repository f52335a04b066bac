"""Spans: turns as traces of OpenTelemetry, sent to the collector that the operator names."""

from __future__ import annotations

from bot.errors import SettingsError
from bot.features.spans.settings import Config
from bot.pipeline.feature import Feature
from bot.pipeline.services import Services


def make_feature(services: Services, config: Config) -> Feature:
    """The feature; one without hooks where no collector is named."""
    if not config.sends:
        return Feature()
    from bot.features.spans.export import Export
    from bot.features.spans.observer import Spans

    try:
        return Spans(services, Export(config))
    except ValueError as error:
        # The SDK reads variables of its own, and says which number or word it does not take.
        raise SettingsError("OTEL_…", str(error)) from error


FEATURE = make_feature
