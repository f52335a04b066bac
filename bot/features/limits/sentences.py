"""The sentences about a day's limits: refusals, and the answer to /usage."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from bot.channels import InboundEvent, Reply
from bot.features.limits.budgets import Balance, Excess
from bot.pipeline.services import Services
from bot.prices import MILLION


class Sentences:
    """Writes sentences of the catalogue in the language of an event's author."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def usage(self, used: Iterable[Balance], event: InboundEvent) -> str:
        """What has been used today."""
        language = self._services.language(event)
        lines = "\n".join(self._line(one, language) for one in used)
        return self._sentence("usage", language, when=self._when(event, language), lines=lines)

    def title(self, event: InboundEvent) -> str:
        """What stands above it on a page."""
        return self._sentence("title", self._services.language(event))

    def refusal(self, excess: Excess, most: int, event: InboundEvent) -> Reply:
        """Why messages are not answered, and until when.

        Args:
            most: what the limit allows; millionths of a dollar.
        """
        language = self._services.language(event)
        limit = f"{most / MILLION:,.2f}" if excess.unit == "dollars" else f"{most:,}"
        when = self._when(event, language)
        text = self._sentence(f"{excess.scope}_{excess.unit}", language, limit=limit, when=when)
        announced = self._services.features.announce(event, text) if event.scheduled else None
        failure = f"the limit in {excess.unit} of one {excess.scope} and day is {limit}"
        return replace(announced or Reply(text), failure=failure)

    def _line(self, used: Balance, language: str) -> str:
        counter, spent = used.counter, used.spent
        tokens = self._amount("tokens", spent.tokens, counter.token_limit, language)
        messages = self._amount("messages", spent.messages, counter.message_limit, language)
        if used.searches:
            tokens = self._sentence(
                "with_searches", language, tokens=tokens, searches=f"{used.searches:,}"
            )
        amounts = tokens
        if counter.scope != "bot":
            amounts = self._sentence("both", language, messages=messages, tokens=tokens)
        return self._sentence(f"of_{counter.scope}", language, amounts=amounts)

    def _amount(self, unit: str, used: int, limit: int, language: str) -> str:
        key = f"{unit}_limited" if limit else unit
        return self._sentence(key, language, used=f"{used:,}", limit=f"{limit:,}")

    def _when(self, event: InboundEvent, language: str) -> str:
        """The end of the day in the author's time zone. The text names the zone, because it may be
        the bot's."""
        zone = self._services.time_zone(event)
        end = self._services.days.end.astimezone(ZoneInfo(zone))
        return self._sentence(
            "when",
            language,
            year=end.year,
            month=end.month,
            day=end.day,
            time=f"{end:%H:%M}",
            zone=zone,
        )

    def _sentence(self, key: str, language: str, **values: object) -> str:
        return self._services.texts.get(f"limits.{key}", language, **values)
