"""Tool calls put together from every kind of pieces vendors send."""

from __future__ import annotations

from typing import Any

import pytest

from bot.providers import ToolCallDelta
from bot.providers.shared.streaming import Calls
from bot.transcript import ToolCall
from tests.bot.providers.asking import model

Piece = tuple[int | None, str | None, str | None, str | dict[str, Any] | None]

A, B = ("a", {"x": 1}), ("b", {"y": "東京"})


def taken(*pieces: Piece) -> Calls:
    """Calls that have taken these pieces in."""
    calls = Calls()
    for piece in pieces:
        calls.take(*piece)
    return calls


Y = '{"y":"東京"}'
FORMS: dict[str, list[Piece]] = {
    "in turn": [
        (0, "1", "a", ""),
        (0, None, None, '{"x"'),
        (0, None, None, ":1}"),
        (1, "2", "b", Y),
    ],
    "interleaved": [
        (0, "1", "a", '{"x"'),
        (1, "2", "b", Y[:4]),
        (0, None, None, ":1}"),
        (1, None, None, Y[4:]),
    ],
    "empty ids": [(0, "", "a", '{"x":1}'), (1, "", "b", Y)],
    "no ids": [(0, None, "a", '{"x":1}'), (1, None, "b", Y)],
    "objects without numbers": [(None, None, "a", {"x": 1}), (None, None, "b", {"y": "東京"})],
    "no numbers": [(None, "1", "a", '{"x"'), (None, None, None, ":1}"), (None, "2", "b", Y)],
    "all numbered alike": [(0, "", "a", '{"x":1}'), (0, "", "b", Y)],
    "names repeated": [(0, "1", "a", '{"x"'), (0, "1", "a", ":1}"), (0, "2", "b", Y)],
    "an empty end": [
        (0, "1", "a", ""),
        (0, "1", "a", '{"x":1}'),
        (1, "2", "b", Y),
        (1, "2", "b", ""),
    ],
    "numbered from anywhere": [(7, "1", "a", '{"x":1}'), (3, "2", "b", Y)],
    "encoded twice": [(0, "1", "a", '"{\\"x\\":1}"'), (1, "2", "b", Y)],
    "name late": [(0, "1", None, '{"x"'), (0, None, "a", ":1}"), (1, "2", "b", Y)],
}


@pytest.mark.parametrize("pieces", list(FORMS.values()), ids=list(FORMS))
def test_pieces_become_calls(pieces: list[Piece]) -> None:
    """Two calls in the order they began, whatever form they came in, each with an id of its own."""
    calls = taken(*pieces)
    whole = calls.whole()
    assert whole is not None
    assert [(call.name, call.arguments) for call in whole] == [A, B]
    assert len({call.id for call in whole} - {""}) == 2


@pytest.mark.parametrize("arguments", ["", None, "null", "{}", {}, '""', " "])
def test_no_arguments_are_an_empty_object(arguments: str | dict[str, Any] | None) -> None:
    """A tool without parameters is called in many ways."""
    assert [call.arguments for call in taken((0, "1", "a", arguments)).whole() or ()] == [{}]


@pytest.mark.parametrize(
    "piece",
    [
        (0, "1", "a", '{"x": 1'),
        (0, "1", "a", "[1]"),
        (0, "1", "a", "5"),
        (0, "1", "", "{}"),
        (0, "1", "a", '"x"'),
    ],
)
def test_what_cannot_be_read_spoils_the_answer(piece: Piece) -> None:
    """Half of what a model wanted is not run either."""
    assert taken((1, "2", "b", "{}"), piece).whole() is None


def test_an_id_is_not_given_twice() -> None:
    """Some servers count anew in every answer; results would go to the wrong call."""
    calls = Calls([model(ToolCall("call_0", "a", {}))])
    for _ in range(2):
        calls.take(None, "call_0", "a", "{}")
    calls.take(None, "call_1", "a", "{}")
    ids = [call.id for call in calls.whole() or ()]
    assert len(set(ids)) == 3
    assert "call_0" not in ids
    assert ids[2] == "call_1"


def test_deltas_add_up() -> None:
    """Id and name come once, with the first piece that has them."""
    calls = Calls()
    reported = [
        calls.take(5, "1", "a", '{"x"'),
        calls.take(5, "1", "a", ":1}"),
        calls.take(6, "2", "b", {"y": 2}),
    ]
    assert reported == [
        ToolCallDelta(0, "1", "a", '{"x"'),
        ToolCallDelta(0, "", "", ":1}"),
        ToolCallDelta(1, "2", "b", '{"y":2}'),
    ]
