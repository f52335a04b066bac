"""What an operator has set for a place or a person: one value, which features
(``Services.settings_of``) and channels (``Host``) read where they need a field of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from toolset.offer.rules import EVERYTHING, Rule

# Which messages of a group call the bot: those that mention it; also those in a thread that it has
# joined; all; none, and nothing is answered at all. Empty: as the channel is set.
Speak = Literal["", "mention", "thread", "all", "never"]


PlaceUnit = Literal["tokens", "dollars"]


class PlaceLimit(NamedTuple):
    """A limit of one day, which all share to whom it applies.

    Attributes:
        key: names those.
        most: tokens, or millionths of a dollar.
        source: where it is set, for the operator.
    """

    key: str
    unit: PlaceUnit
    most: int
    source: str


@dataclass(frozen=True, slots=True)
class PlaceSettings:
    """What differs in a place; what is empty, or None, is as everywhere.

    Attributes:
        models: one, then its fallbacks; an empty name is MODEL's.
        offer: which tools are offered beside TOOLS_ALLOW, and their risks.
        speak: which messages of a group call the bot.
        bots: ids of bots, or of their users, that are answered like people.
        language, time_zone: in place of LANGUAGE and TIMEZONE.
        reviewers, approvers: in place of REVIEWERS and APPROVERS.
    """

    persona: str = ""
    replaces_persona: bool = False
    models: tuple[str, ...] = ()
    offer: Rule = EVERYTHING
    speak: Speak = ""
    bots: tuple[str, ...] = ()
    language: str = ""
    time_zone: str = ""
    limits: tuple[PlaceLimit, ...] = ()
    reviewers: tuple[str, ...] | None = None
    approvers: tuple[str, ...] | None = None


AS_EVERYWHERE = PlaceSettings()
# Of a conversation, and of a person there, whose id may be empty.
SettingsOf = Callable[[str, str], PlaceSettings]


def as_everywhere(conversation: str, person: str) -> PlaceSettings:
    """Nothing differs (``SettingsOf``)."""
    return AS_EVERYWHERE
