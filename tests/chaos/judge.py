"""Judges a conversation by its markers: each in exactly one shown message, in the order of the
questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.talk import Shown, Talk

MINUTE_S = 60.0
MARGIN_S = 10.0  # a reply token is given up before its minute is over


@dataclass(slots=True)
class Verdict:
    """What is wrong with a conversation.

    Attributes:
        lost: acknowledged messages without an answer.
        twice: messages answered more than once.
        line_window, slack_window: those among the doubled that fall into a window
            docs/durability.md names.
        reordered: messages whose answer is shown after that of a later one.
        unmarked: what was shown beside answers, such as an apology.
    """

    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    line_window: list[str] = field(default_factory=list)
    slack_window: list[str] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong, or only what is known to be possible."""
        known = {*self.line_window, *self.slack_window}
        return not (self.lost or set(self.twice) - known or self.reordered or self.unmarked)


def judge(talk: Talk, shown: Sequence[Shown], looked_up: Sequence[float] = ()) -> Verdict:
    """Judge one conversation.

    Args:
        shown: what people saw of it, in order.
        looked_up: when the bot has looked in this place for what it had posted.
    """
    seen = Counter(marker for message in shown for marker in message.markers)
    verdict = Verdict(
        lost=[
            asked.marker for asked in talk.asked if asked.acknowledged and not seen[asked.marker]
        ],
        unmarked=[message.text for message in shown if not message.markers],
    )
    for marker in (asked.marker for asked in talk.asked if seen[asked.marker] > 1):
        doubled = [message for message in shown if marker in message.markers]
        verdict.twice.append(marker)
        if _is_line_window(doubled, {asked.marker: asked.at for asked in talk.asked}):
            verdict.line_window.append(marker)
        if _is_slack_window(doubled, looked_up):
            verdict.slack_window.append(marker)
    places = {asked.marker: place for place, asked in enumerate(talk.asked)}
    first_shown = list(
        dict.fromkeys(marker for message in shown for marker in message.markers if marker in places)
    )
    newest = -1
    for marker in first_shown:
        if places[marker] < newest:
            verdict.reordered.append(marker)
        newest = max(newest, places[marker])
    return verdict


def _is_line_window(doubled: Sequence[Shown], asked_at: Mapping[str, float]) -> bool:
    """A reply whose outcome stayed unknown until its token's minute was over, then a push."""
    reply, again = doubled[:2]
    token_since = max(asked_at[marker] for marker in reply.markers)
    is_late = again.at - token_since > MINUTE_S - MARGIN_S
    return len(doubled) == 2 and (reply.via, again.via) == ("reply", "push") and is_late


def _is_slack_window(doubled: Sequence[Shown], looked_up: Sequence[float]) -> bool:
    """One delivery posted twice, because the last look before the second post came before the first
    one was there."""
    first, *rest = doubled
    if len(rest) != 1 or not first.delivery or rest[0].delivery != first.delivery:
        return False
    looks = [at for at in looked_up if at < rest[0].at]
    return bool(looks) and max(looks) < first.at
