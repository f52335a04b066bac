"""Compares what a model called and said with what a question wants."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from bot.evals.questions import ExpectedCall, Predicate, Question
from bot.transcript import ToolCall, encode
from toolset.tool_map import FIND_TOOLS

SHOWN = 300  # characters of what is wrong
MOST_CALLS = 40  # of one answer


def judge(
    question: Question, calls: Sequence[ToolCall], answer: str, acting: Collection[str]
) -> str:
    """What is wrong with an answer; empty if it is right.

    Args:
        calls: all that were made; a search for tools is none.
        acting: tools that change something; they are not called more often than expected.
    """
    made = [call for call in calls if call.name != FIND_TOOLS]
    wrong = _wrong_calls(question, made, acting) or _wrong_words(question, calls, answer)
    return wrong if len(wrong) <= SHOWN else f"{wrong[: SHOWN - 1]}…"


def _wrong_calls(question: Question, calls: Sequence[ToolCall], acting: Collection[str]) -> str:
    expected = Counter(name for call in question.calls for name in call.tools)
    if extra := [
        call for call in calls if call.name not in expected and call.name not in question.may
    ]:
        return f"called {_shown(extra)}"
    made = Counter(call.name for call in calls)
    if often := [
        name for name in acting if made[name] > expected[name] and name not in question.may
    ]:
        return f"called {often[0]} {made[often[0]]} times"
    if len(calls) > MOST_CALLS:
        return f"made {len(calls)} calls"
    if not _are_made(question.calls, list(calls)):
        return f"called {_shown(calls) or 'nothing'}"
    return ""


def _wrong_words(question: Question, calls: Sequence[ToolCall], answer: str) -> str:
    said = _plain(answer)
    for wanted in question.says:
        choice = [wanted] if isinstance(wanted, str) else wanted
        if not any(_plain(word) in said for word in choice):
            return f"did not say {' or '.join(choice)}: {answer}"
    everything = "\n".join([said, *(_text(call.arguments) for call in calls)])
    found = next((word for word in question.never if _plain(word) in everything), "")
    return f"said or sent {found}: {answer}" if found else ""


def _are_made(expected: Sequence[ExpectedCall], made: Sequence[ToolCall]) -> bool:
    """Whether each expected call is another one of those that were made."""
    if not expected:
        return True
    first, *rest = expected
    return any(
        _fits(first, call) and _are_made(rest, [*made[:at], *made[at + 1 :]])
        for at, call in enumerate(made)
    )


def _fits(expected: ExpectedCall, call: ToolCall) -> bool:
    return call.name in expected.tools and any(
        all(_holds(predicate, call.arguments.get(name)) for name, predicate in choice.items())
        for choice in expected.choices
    )


def _holds(predicate: Predicate, value: Any) -> bool:
    if predicate.absent:
        return value is None
    if value is None:
        return False
    if predicate.equals is not None and not _is_equal(predicate.equals, value):
        return False
    text = _text(value)
    one = not predicate.any_of or any(_plain(word) in text for word in predicate.any_of)
    return one and all(_plain(word) in text for word in predicate.contains)


def _is_equal(wanted: object, value: object) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(wanted, str) and isinstance(value, str):
        return _plain(wanted).strip() == _plain(value).strip()
    return wanted == value


def _text(value: Any) -> str:
    """The texts and numbers of a value, one a line."""
    if isinstance(value, dict):
        return "\n".join(map(_text, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return _plain(str(value))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shown(calls: Sequence[ToolCall]) -> str:
    return ", ".join(f"{call.name}({encode(call.arguments).decode()})" for call in calls)
