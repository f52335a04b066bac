"""The storm's model answers what has not been answered, and nothing else."""

from __future__ import annotations

from typing import Any

from tests.chaos.model import answer_to


def user(text: str) -> dict[str, Any]:
    """A message of a user's."""
    return {"role": "user", "parts": [{"text": text}]}


def model(**part: Any) -> dict[str, Any]:
    """A message of the model's."""
    return {"role": "model", "parts": [part]}


def parts_of(*contents: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model says next."""
    events = answer_to({"contents": list(contents)}).events
    return [part for event in events for part in event["candidates"][0]["content"]["parts"]]


def test_it_repeats_the_markers_since_its_last_answer() -> None:
    """An answered message is not answered again, also where the history still holds it."""
    history = user("q1n0: hello"), model(text="q1n0: answered.")
    assert parts_of(*history, user("q1n1: hello"), user("q1n2: hello")) == [
        {"text": "q1n1 q1n2: answered."}
    ]


def test_it_calls_a_tool_once_and_then_answers_all() -> None:
    """Also what has come in while the tool ran."""
    asked = user("q1n0: please calculate 6 * 7")
    (called,) = parts_of(asked)
    result = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "calculate", "response": {"result": 42}}}],
    }
    assert called["functionCall"]["name"] == "calculate"
    assert parts_of(asked, model(**called), result, user("q1n1: hello")) == [
        {"text": "q1n0 q1n1: answered."}
    ]
