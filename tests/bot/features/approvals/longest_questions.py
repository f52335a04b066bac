"""A call, a title, a reason and votes that make the longest question there can be."""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar

from bot.providers.scripted import Scripted, Step
from bot.safe_text.arguments import SHOWN, render_arguments
from bot.transcript import ToolCall
from tests.bot.features.approvals.reviewing import votes
from tests.fakes.tools import Launch

MOST_REVIEWERS, SENTENCE = 5, 1_000  # what the settings and the schema of a vote take


class TitledLaunch(Launch):
    """Has the longest title."""

    titles: ClassVar[dict[str, str]] = dict.fromkeys(("en", "ja"), "𠮷" * 40)


def _room(letters: str) -> int:
    return len(render_arguments({"what": letters, "n": 1}))


def longest_call(letter: str) -> Step:
    """A call whose arguments take all the room there is, with the longest reason."""
    letters = letter * SHOWN
    # A longer beginning never takes less room, so the longest that fits is found by halves.
    too_long = bisect_right(range(SHOWN), SHOWN, key=lambda size: _room(letters[:size]))
    arguments = {"what": letters[: too_long - 1], "n": 1, "reason": letters}
    return Step(calls=(ToolCall("c1", "launch", arguments),))


def wordy_models(letter: str) -> dict[str, Scripted]:
    """As many as there may be, with long names, each with the longest sentence."""
    sentence = (letter * SENTENCE)[:SENTENCE]
    names = [f"openai:{number}{'accounts/models/' * 10}" for number in range(MOST_REVIEWERS)]
    return {name: Scripted([votes("approve", sentence)]) for name in names}
