"""Tables of an answer in LINE: small ones on a card, others as text."""

from __future__ import annotations

import pytest

from bot.channels import Reply
from bot.channels.line.tables import Table, segments
from tests.bot.channels.line.rig import Rig
from tests.fakes.line import LineFake
from tests.growth import assert_linear

HEAD = "| City | **High** |\n|---|:-:|"
TABLE = f"{HEAD}\n| Tokyo | 24 °C |\n| Osaka | |"
ROWS = (("City", "High"), ("Tokyo", "24 °C"), ("Osaka", ""))


def test_a_table_stands_between_its_texts() -> None:
    """Cells are plain text; a row that is too short is filled up."""
    assert segments(f"Above\n\n{TABLE}\n\nBelow") == ["Above\n", Table(ROWS), "\nBelow"]
    assert segments(f"{HEAD}\n| Tokyo |") == ["", Table((("City", "High"), ("Tokyo", ""))), ""]


@pytest.mark.parametrize(
    "markdown",
    [
        "no | table",
        HEAD,
        "| a |\n|---|\n| b |",
        f"{HEAD}\n" + "| a | b |\n" * 16,
        f"{HEAD}\n" + "|---|---|\n" * 15 + "| a | b |\n| c | d |",
        f"{HEAD}\n| a | {'b' * 61} |",
        f"{HEAD}\n| a | b | c |",
        "|a|b|c|d|e|\n|-|-|-|-|-|\n|1|2|3|4|5|",
        f"```\n{TABLE}\n```",
        f"~~~~\n```\n{TABLE}",
        f"```\n```python\n{TABLE}\n```",
    ],
)
def test_what_fits_no_card_stays_text(markdown: str) -> None:
    """Too many rows or columns, too long a cell, code, or no table at all."""
    assert segments(markdown) == [markdown]


def test_code_that_has_ended_hides_no_table() -> None:
    """A longer fence closes as well, and code of one line is no fence."""
    assert segments(f"```\ncode\n````\n{TABLE}")[1] == Table(ROWS)
    assert segments(f"```code``` is not open\n{TABLE}")[1] == Table(ROWS)


def test_a_fence_that_is_none_is_looked_at_once() -> None:
    """However long its line."""
    assert_linear(segments, {"tildes before a backtick": lambda size: "~" * size + "`"})


async def test_a_table_is_a_card_with_its_rows_in_notifications(fake: LineFake, rig: Rig) -> None:
    """LINE refuses an empty cell, which becomes a dash."""
    await rig.say(Reply(f"Here:\n\n{TABLE}\n\nBye."), rig.address(fake.token()))
    [sent] = fake.sent
    assert [message["type"] for message in sent.messages] == ["text", "flex", "text"]
    assert sent.texts == ["Here:", "City | High\nTokyo | 24 °C\nOsaka | –", "Bye."]
    assert sent.messages[1]["altText"] == "City | High\nTokyo | 24 °C\nOsaka | "


async def test_tables_that_find_no_room_are_text(fake: LineFake, rig: Rig) -> None:
    """LINE takes five messages."""
    await rig.say(Reply("\n\nAnd:\n\n".join([TABLE] * 3)), rig.address(fake.token()))
    await rig.say(Reply("\n\nAnd:\n\n".join([TABLE] * 4)), rig.address(fake.token()))
    assert [[message["type"] for message in sent.messages] for sent in fake.sent] == [
        ["flex", "text", "flex", "text", "flex"],
        ["text"],
    ]
    assert fake.texts[1][0].count("Tokyo | 24 °C") == 4
