"""Calls and results on one line each."""

from __future__ import annotations

from bot.live_events import ToolStarted
from bot.terminal import call_text, rest_of, result_text


def test_a_call_reads_like_code() -> None:
    """Names and values, on one line whatever they hold."""
    given = {"place": "東京\n", "days": [1, 2], "deep": True}
    assert (
        call_text(ToolStarted("c1", "look", given))
        == 'look(place="東京\\n", days=[1,2], deep=true)'
    )


def test_a_call_has_its_title() -> None:
    """In the language of whoever asked; of letters that turn no text round."""
    assert (
        call_text(ToolStarted("c1", "get_weather", {"location": "京都"}, "天気\u202e"))
        == '天気 · location="京都"'
    )
    assert call_text(ToolStarted("c1", "get_current_time", {}, "Time")) == "Time"


def test_an_error_is_told_in_its_own_words() -> None:
    """Only where the result is nothing but an error."""
    assert result_text({"error": "timed out\nafter 3 s"}) == "timed out after 3 s"
    assert result_text({"error": "x", "more": 1}) == '{"error":"x","more":1}'
    assert result_text({"error": {"code": 1}}) == '{"error":{"code":1}}'


def test_a_long_result_is_cut() -> None:
    """Nobody reads a page on one line."""
    assert result_text({"error": "x" * 5000}) == "x" * 600 + "…"


def test_what_was_not_shown_is_known() -> None:
    """The rest where the beginning matches, else everything."""
    assert rest_of("Hello there", "Hello") == " there"
    assert rest_of("Hello there", "there") == "Hello there"
