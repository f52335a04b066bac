"""The settings of places."""

from __future__ import annotations

from pathlib import Path

from bot.checks import CheckResult, Examined
from bot.errors import SettingsError
from bot.features.places.book import PlaceBook
from bot.place_file import read_sources
from bot.settings import FeatureConfig, Settings
from bot.settings.types import ModelNames


class Config(FeatureConfig):
    """Fields are the variables in lower case.

    Attributes:
        places: the file; None: every place is as everywhere.
        fallback_models: follow a place's model where no fallbacks are set.
    """

    places: Path | None = None
    fallback_models: ModelNames = ()

    def describe(self, settings: Settings) -> list[CheckResult]:
        """A line where there is a file; it is read, and models are only looked at by their form."""
        if self.places is None:
            return []
        try:
            book = PlaceBook(read_sources(self.places), settings.bot_name)
        except SettingsError as error:
            fix = "until it is mended the last good file counts"
            return [CheckResult("failure", "places", error.fix, fix)]
        counts = f"{len(book.places)} places, {len(book.file.accounts)} accounts"
        return [CheckResult("ok", "places", f"{self.places}: {counts}", "unset PLACES to use none")]

    @property
    def has_checks(self) -> bool:
        return self.places is not None

    async def examine(self, settings: Settings, examined: Examined) -> list[CheckResult]:
        """What is doubtful in the file."""
        # The start reads settings, and needs none of this.
        from bot.features.places.report import examine  # noqa: PLC0415

        return await examine(settings, examined)
