"""What a sticker says: LINE describes it by up to 15 English keywords, in no order.

https://developers.line.biz/en/reference/messaging-api/#wh-sticker
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Courtesy = Literal["", "thanks", "hello", "agreed", "night", "bye"]

KEYWORDS: dict[Courtesy, frozenset[str]] = {
    "thanks": frozenset(
        {"thanks", "thank you", "thankyou", "thx", "grateful", "gratitude", "appreciate", "arigato"}
    ),
    "hello": frozenset(
        {
            "hello",
            "hi",
            "hey",
            "howdy",
            "greetings",
            "greeting",
            "whatsup",
            "good morning",
            "morning",
        }
    ),
    "agreed": frozenset(
        {"ok", "okay", "got it", "gotcha", "roger", "understood", "agree", "agreed", "sure"}
    ),
    "night": frozenset({"good night", "goodnight", "nighty night", "sweet dreams"}),
    "bye": frozenset({"bye", "goodbye", "bye bye", "see you", "see ya", "farewell"}),
}
ASKING = frozenset(
    {
        "question",
        "question mark",
        "what",
        "why",
        "help",
        "confused",
        "please",
        "huh",
        "where",
        "when",
    }
)


def courtesy_of(keywords: Iterable[str]) -> Courtesy:
    """The courtesy that most keywords name; empty where they name none, or rather ask for
    something."""
    named = {keyword.strip().lower() for keyword in keywords}
    if named & ASKING:
        return ""
    found = {courtesy: len(named & words) for courtesy, words in KEYWORDS.items()}
    best = max(found, key=lambda courtesy: found[courtesy])
    return best if found[best] else ""
