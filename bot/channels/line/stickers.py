"""What a sticker says: LINE describes it by up to 15 English keywords, in no order.

https://developers.line.biz/en/reference/messaging-api/#wh-sticker
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Courtesy = Literal["", "thanks", "hello", "agreed", "night", "bye"]

KEYWORDS: dict[Courtesy, str] = {
    "thanks": "thanks, thank you, thankyou, thx, grateful, gratitude, appreciate, arigato",
    "hello": ("hello, hi, hey, howdy, greetings, greeting, whatsup, good morning, morning"),
    "agreed": "ok, okay, got it, gotcha, roger, understood, agree, agreed, sure",
    "night": "good night, goodnight, nighty night, sweet dreams",
    "bye": "bye, goodbye, bye bye, see you, see ya, farewell",
}
ASKING = "question, question mark, what, why, help, confused, please, huh, where, when"


def courtesy_of(keywords: Iterable[str]) -> Courtesy:
    """The courtesy that most keywords name; empty where they name none, or rather ask for
    something."""
    named = {keyword.strip().lower() for keyword in keywords}
    if not named.isdisjoint(ASKING.split(", ")):
        return ""
    found = {each: len(named.intersection(words.split(", "))) for each, words in KEYWORDS.items()}
    best = max(KEYWORDS, key=lambda courtesy: found[courtesy])
    return best if found[best] else ""
