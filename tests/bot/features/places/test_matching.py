"""Which table counts: the narrowest that sets a field."""

from __future__ import annotations

from typing import Any

import pytest

from bot.features.places.table import Place, resolve

THREAD = "slack:T1:C1:1700000000.0001"
OTHER = "slack:T1:C2:1700000000.0001"
SHOP = "slack@shop:T1:C1:1700000000.0001"
LINE = "line:bot:group:C9"
LINE_SHOP = "line@shop:bot:user:U1"

EVERYBODY: dict[str, Any] = {}
SLACK = {"platform": "slack"}
ACCOUNT = {"account": "shop"}
PERSON = {"person": "U1"}
CHANNEL = {"conversation": "slack:T1:C1"}
BOTH = {"conversation": "slack:T1:C1", "person": "U1"}


# Tables in the order of the file, where somebody is, and the table that counts; None: none does.
CASES: list[tuple[list[dict[str, Any]], str, str, int | None]] = [
    # 1-7: what matches
    ([EVERYBODY], THREAD, "U1", 0),
    ([SLACK], THREAD, "U1", 0),
    ([SLACK], LINE, "U1", None),
    ([ACCOUNT], SHOP, "U1", 0),
    ([ACCOUNT], THREAD, "U1", None),
    ([{"account": ""}], THREAD, "U1", 0),
    ([{"account": ""}], SHOP, "U1", None),
    # 8-15: conversations and people
    ([CHANNEL], THREAD, "U1", 0),
    ([CHANNEL], OTHER, "U1", None),
    ([CHANNEL], SHOP, "U1", None),
    ([{"conversation": THREAD}], THREAD, "", 0),
    ([{"conversation": "slack:T1:*"}], OTHER, "", 0),
    ([PERSON], LINE, "U1", 0),
    ([PERSON], LINE, "U2", None),
    ([{"person": "*"}], LINE, "", None),
    # 16-20: all that a table names must match
    ([BOTH], THREAD, "U1", 0),
    ([BOTH], THREAD, "U2", None),
    ([BOTH], OTHER, "U1", None),
    ([SLACK | PERSON], LINE, "U1", None),
    ([{"platform": "line", "account": "shop"}], LINE_SHOP, "U1", 0),
    # 21-30: the narrower one, wherever it stands
    ([EVERYBODY, SLACK], THREAD, "U1", 1),
    ([SLACK, EVERYBODY], THREAD, "U1", 0),
    ([SLACK, ACCOUNT], SHOP, "U1", 1),
    ([ACCOUNT, PERSON], SHOP, "U1", 1),
    ([CHANNEL, PERSON], THREAD, "U1", 0),
    ([PERSON, CHANNEL], THREAD, "U1", 1),
    ([PERSON, CHANNEL], OTHER, "U1", 0),
    ([CHANNEL, BOTH], THREAD, "U1", 1),
    ([BOTH, CHANNEL], THREAD, "U2", 1),
    ([EVERYBODY, SLACK, ACCOUNT, PERSON, {"conversation": SHOP}], SHOP, "U1", 4),
    # 31-36: the id itself before a pattern, the longer pattern before the shorter
    ([{"conversation": "slack:T1:C1*"}, CHANNEL], THREAD, "", 1),
    ([{"conversation": "slack:*"}, {"conversation": "slack:T1:*"}], THREAD, "", 1),
    ([{"conversation": "slack:T1:C[12]*"}, {"conversation": "*C1:17*"}], THREAD, "", 0),
    ([{"person": "U?"}, PERSON], THREAD, "U1", 1),
    ([{"platform": "s*"}, {"platform": ["line", "slack"]}], THREAD, "", 1),
    ([{"conversation": "*", "person": "U1"}, BOTH], THREAD, "U1", 1),
    # 37-40: then the order of the file
    ([CHANNEL, CHANNEL], THREAD, "", 0),
    ([EVERYBODY, EVERYBODY], LINE, "", 0),
    ([{"person": "U?"}, {"person": "?1"}], THREAD, "U1", 0),
    ([SLACK | PERSON, PERSON], THREAD, "U1", 0),
]


def test_there_are_forty_cases() -> None:
    """The order has as many."""
    assert len(CASES) == 40


@pytest.mark.parametrize(
    ("tables", "conversation", "person", "counts"), CASES, ids=range(1, len(CASES) + 1)
)
def test_the_narrowest_table_counts(
    tables: list[dict[str, Any]], conversation: str, person: str, counts: int | None
) -> None:
    """Its number in the file."""
    places = [Place(**table, language="en") for table in tables]
    found = resolve(places, conversation, person)
    assert (found["language"].number if found else None) == counts


def test_an_account_has_all_workspaces_of_its_app() -> None:
    """A table that names one of them is narrower."""
    app = Place(account=("acme",), language="ja")
    one = Place(account=("acme.T2",), language="en")
    found = [
        resolve([app, one], f"slack@acme{team}:T:C1", "U1")["language"].number
        for team in (".T1", ".T2", "")
    ]
    assert found == [0, 1, 0]
    assert resolve([one], "slack@acme.T1:T:C1", "U1") == {}


def test_each_field_comes_from_the_narrowest_table_that_sets_it() -> None:
    """A list takes the place of a list; false and empty are values."""
    places = [
        Place(tools=("a", "b"), speak="all", tokens=5),
        Place(platform=("slack",), tools=(), language="ja"),
        Place(conversation=("slack:T1:C1",), speak="never"),
    ]
    found = resolve(places, THREAD, "U1")
    assert {name: (one.value, one.number) for name, one in found.items()} == {
        "speak": ("never", 2),
        "tools": ((), 1),
        "language": ("ja", 1),
        "tokens": (5, 0),
    }
