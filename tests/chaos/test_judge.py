"""The judge notices what a storm must never do: without that a clean verdict says nothing."""

from __future__ import annotations

import pytest

from tests.chaos.judge import Verdict, judge
from tests.chaos.talk import Asked, Shown, Talk

HERE = "line:Ubot:user:Ualice"


def talk(*markers: str) -> Talk:
    """A conversation whose messages have all been acknowledged."""
    return Talk(HERE, [Asked(marker, acknowledged=True, at=0.0) for marker in markers])


def shown(*texts: str) -> list[Shown]:
    """Messages, one second after the other."""
    return [Shown(float(at), HERE, text, "reply") for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    "texts",
    [("q1n0", "q1n1", "q1n2"), ("q1n0 q1n1", "q1n2"), ("q1n0 q1n1 q1n2 answered",)],
    ids=["one by one", "two together", "all together"],
)
def test_each_answered_once_and_in_order_is_clean(texts: tuple[str, ...]) -> None:
    """One answer may cover several messages."""
    assert judge(talk("q1n0", "q1n1", "q1n2"), shown(*texts)).is_clean


def test_an_acknowledged_message_without_an_answer_is_lost() -> None:
    """One that the platform gave up is not: nobody has promised anything."""
    asked = talk("q1n0", "q1n1", "q1n2")
    asked.asked[2].acknowledged = False
    assert judge(asked, shown("q1n0")) == Verdict(lost=["q1n1"])


def test_a_second_answer_is_noticed() -> None:
    """Whether it comes alone or beside another."""
    found = judge(talk("q1n0", "q1n1"), shown("q1n0", "q1n0 q1n1", "q1n1"))
    assert found == Verdict(twice=["q1n0", "q1n1"])


def test_an_answer_after_a_later_one_is_out_of_order() -> None:
    """Also within one message."""
    assert judge(talk("q1n0", "q1n1"), shown("q1n1", "q1n0")) == Verdict(reordered=["q1n0"])
    assert judge(talk("q1n0", "q1n1"), shown("q1n1 q1n0")) == Verdict(reordered=["q1n0"])


def test_an_apology_is_told() -> None:
    """It is no answer."""
    found = judge(talk("q1n0"), shown("Something went wrong."))
    assert found == Verdict(lost=["q1n0"], unmarked=["Something went wrong."])


@pytest.mark.parametrize(
    ("pushed_at", "window"), [(55.0, ["q1n0"]), (5.0, [])], ids=["after its minute", "before"]
)
def test_a_push_after_a_reply_is_a_known_window_once_the_tokens_minute_is_over(
    pushed_at: float, window: list[str]
) -> None:
    """It counts as doubled all the same."""
    both = [Shown(0.0, HERE, "q1n0", "reply"), Shown(pushed_at, HERE, "q1n0", "push")]
    assert judge(talk("q1n0"), both) == Verdict(twice=["q1n0"], line_window=window)


@pytest.mark.parametrize(
    ("looked_at", "window"), [(1.0, ["q1n0"]), (3.0, [])], ids=["before", "after"]
)
def test_a_second_post_is_a_known_window_where_the_first_came_after_the_look(
    looked_at: float, window: list[str]
) -> None:
    """Who had looked after the first post must have found it."""
    both = [Shown(at, HERE, "q1n0", "post", "turn_1") for at in (2.0, 4.0)]
    assert judge(talk("q1n0"), both, [looked_at]) == Verdict(twice=["q1n0"], slack_window=window)
