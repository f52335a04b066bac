"""Compares what a model called and said with what a question wants."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from bot.evals.questions import ExpectedCall, Predicate, Question
from bot.transcript import ToolCall, encode
from toolset.tool_map import FIND_TOOLS

# What is wrong is shown with so many characters.
SHOWN = 300
# An answer may make so many calls.
MOST_CALLS = 40


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
    allowed = {*expected, *question.may}
    extra = [call for call in calls if call.name not in allowed]
    if extra:
        return f"called {_shown(extra)}"
    made = Counter(call.name for call in calls)
    for name in acting:
        if made[name] > expected[name] and name not in question.may:
            return f"called {name} {made[name]} times"
    if len(calls) > MOST_CALLS:
        return f"made {len(calls)} calls"
    if not _are_made(question.calls, list(calls)):
        return f"called {_shown(calls) or 'nothing'}"
    return ""


def _wrong_words(question: Question, calls: Sequence[ToolCall], answer: str) -> str:
    plain = _plain(answer)
    for wanted in question.says:
        choice = [wanted] if isinstance(wanted, str) else wanted
        if not _names_any(plain, choice):
            return f"did not say {' or '.join(choice)}: {answer}"
    for call in calls:
        plain += "\n" + _text(call.arguments)
    for word in question.never:
        if _plain(word) in plain:
            return f"said or sent {word}: {answer}"
    return ""


def _are_made(expected: Sequence[ExpectedCall], made: Sequence[ToolCall]) -> bool:
    """Whether each expected call is another one of those that were made."""
    if not expected:
        return True
    first, *rest = expected
    for at, call in enumerate(made):
        others = [*made[:at], *made[at + 1 :]]
        if _fits(first, call) and _are_made(rest, others):
            return True
    return False


def _fits(expected: ExpectedCall, call: ToolCall) -> bool:
    if call.name not in expected.tools:
        return False
    for choice in expected.choices:
        if all(_holds(predicate, call.arguments.get(name)) for name, predicate in choice.items()):
            return True
    return False


def _holds(predicate: Predicate, value: Any) -> bool:
    if predicate.absent:
        return value is None
    if value is None:
        return False
    if predicate.equals is not None and not _is_equal(predicate.equals, value):
        return False
    text = _text(value)
    if predicate.any_of and not _names_any(text, predicate.any_of):
        return False
    return all(_plain(word) in text for word in predicate.contains)


def _is_equal(wanted: object, value: object) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(wanted, str) and isinstance(value, str):
        return _plain(wanted).strip() == _plain(value).strip()
    return wanted == value


def _text(value: Any) -> str:
    """The texts and numbers of a value, one a line."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return _plain(str(value))


def _names_any(plain: str, words: Collection[str]) -> bool:
    return any(_plain(word) in plain for word in words)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shown(calls: Sequence[ToolCall]) -> str:
    return ", ".join(f"{call.name}({encode(call.arguments).decode()})" for call in calls)
