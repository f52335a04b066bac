"""A model that repeats the markers of all messages since its last answer, and calls a tool where
one asks for that."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.chaos.talk import MARKER
from tests.fakes.gemini_answers import Answer, answer_of, called, failure

JSON = dict[str, Any]

THINKING_S = (0.1, 1.5)
DETAILED = 0.4  # share of answers that are long, and written before one's eyes
DETAILS = [{"text": " This sentence makes the answer longer."}]
OVERLOADED = 0.03  # share of requests


def parrot(dice: random.Random) -> Callable[[JSON], Answer]:
    """Answers of the model, after a while, to whatever it is asked."""

    def answer(body: JSON) -> Answer:
        if dice.random() < OVERLOADED:
            return failure(503, "The model is overloaded. Please try again later.")
        details = 8 if dice.random() < DETAILED else 0
        return replace(answer_to(body, details), after_s=dice.uniform(*THINKING_S), pace_s=0.4)

    return answer


def answer_to(body: JSON, details: int = 0) -> Answer:
    """What the model says to a request, with so many sentences behind it."""
    words, has_called = unanswered(body)
    if "calculate" in words and not has_called:
        return called("calculate", expression="6 * 7")
    return answer_of(
        [{"text": f"{' '.join(MARKER.findall(words))}: answered."}], *[DETAILS] * details
    )


def unanswered(body: JSON) -> tuple[str, bool]:
    """The users' words since the model's last answer, and whether it has called a tool since."""
    words: list[str] = []
    has_called = False
    for content in body["contents"]:
        calls = any("functionCall" in part for part in content["parts"])
        if content["role"] == "user":
            words += [part["text"] for part in content["parts"] if "text" in part]
        elif calls:
            has_called = True
        else:
            words, has_called = [], False
    return "\n".join(words), has_called
