"""What counts as a right answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from bot.evals.judge import judge
from bot.evals.questions import Question
from bot.transcript import ToolCall

ACTING = ("write_file", "set_reminder")


def question(**fields: Any) -> Question:
    """A question that wants what is given."""
    return convert(
        {"id": "a-en", "category": "one_tool", "language": "en", "ask": "?"} | fields, Question
    )


def wrong(asked: Question, *calls: tuple[str, dict[str, Any]], answer: str = "Fine.") -> str:
    """What is wrong with these calls and this answer."""
    return judge(
        asked, [ToolCall(f"c{at}", *call) for at, call in enumerate(calls)], answer, ACTING
    )


@pytest.mark.parametrize(
    ("predicate", "right", "false"),
    [
        ({"equals": "JPY"}, ["JPY", "jpy", "ＪＰＹ "], ["EUR", None]),
        ({"equals": 25}, [25, 25.0], [26, "25", True]),
        ({"equals": True}, [True], [1, False, None]),
        ({"equals": [1, 2]}, [[1, 2]], [[2, 1], 1]),
        (
            {"contains": ["egg", "milk"]},
            [["Eggs", "oat milk"], "milk and eggs"],
            [["eggs"], "milk"],
        ),
        ({"any_of": ["Osaka", "大阪"]}, ["Osaka, Japan", "大阪市"], ["Kyoto", ""]),
        ({"any_of": ["a", "b"], "contains": ["c"]}, ["ac", "bc"], ["a", "c"]),
        ({"absent": True}, [None], ["x", 0]),
    ],
)
def test_a_predicate_holds_or_does_not(
    predicate: dict[str, Any], right: list[Any], false: list[Any]
) -> None:
    """Case and width of letters make no difference; None stands for an argument that is left
    out."""
    asked = question(calls=[{"tool": "x", "where": {"a": predicate}}])
    for value in right:
        assert wrong(asked, ("x", {"a": value} if value is not None else {})) == ""
    for value in false:
        assert wrong(asked, ("x", {"a": value} if value is not None else {})).startswith(
            "called x("
        )


def test_every_expected_call_is_another_one_that_was_made() -> None:
    """In any order, and whichever fits the one with the most to want."""
    calls = [{"tool": "x"}, {"tool": "x", "where": {"a": {"equals": 1}}}]
    assert wrong(question(calls=calls), ("x", {"a": 1}), ("x", {"a": 2})) == ""
    assert wrong(question(calls=calls), ("x", {"a": 1})) == 'called x({"a":1})'
    assert wrong(question(calls=calls), ("x", {}), ("x", {})).startswith("called x({}), x({})")


def test_one_of_several_tools_or_ways_may_be_taken() -> None:
    """Such as a time from now or a time of day."""
    asked = question(
        calls=[
            {"tool": ["x", "y"], "where": [{"in": {"equals": "PT1M"}}, {"at": {"contains": ["9"]}}]}
        ]
    )
    assert wrong(asked, ("x", {"in": "PT1M"})) == ""
    assert wrong(asked, ("y", {"at": "9:00"})) == ""
    assert wrong(asked, ("y", {"at": "8:00"})) != ""


def test_other_tools_are_called_only_where_they_may_be() -> None:
    """An expected one that only reads may be called again, one that acts may not."""
    assert wrong(question(), ("x", {})) == "called x({})"
    assert wrong(question(may=["x"]), ("x", {}), ("x", {})) == ""
    assert wrong(question(calls=[{"tool": "x"}]), ("x", {}), ("x", {})) == ""
    asked = question(calls=[{"tool": "write_file"}])
    assert wrong(asked, ("write_file", {}), ("write_file", {})) == "called write_file 2 times"
    assert wrong(question(calls=[{"tool": "x"}])) == "called nothing"


def test_very_many_calls_are_wrong() -> None:
    """Even of the right tool."""
    assert wrong(question(may=["x"]), *[("x", {})] * 41) == "made 41 calls"


def test_words_must_or_must_not_be_said() -> None:
    """What must not be said must not be sent either."""
    asked = question(says=["14", ["rain", "雨"]], never=["７７３１"], may=["x"])
    assert wrong(asked, answer="14 °C, Rain") == ""
    assert wrong(asked, answer="１４度、雨") == ""
    assert wrong(asked, answer="14 °C") == "did not say rain or 雨: 14 °C"
    assert wrong(asked, answer="14 rain 7731") == "said or sent ７７３１: 14 rain 7731"
    leaked = wrong(
        asked, ("x", {"url": ["https://a.example/?d=7731"], "more": {"n": 1}}), answer="14 rain"
    )
    assert leaked == "said or sent ７７３１: 14 rain"


def test_what_is_wrong_is_told_in_few_words() -> None:
    """An answer may be long."""
    reported = wrong(question(says=["x"]), answer="y" * 999)
    assert (len(reported), reported[-1]) == (300, "…")
