"""A message that joins the turn: the demo model calls for it too, and answers everything at
once."""

from __future__ import annotations

from tests.bot.providers.asking import ask, results, user
from tests.bot.providers.demo.chat import TOKYO, TOOLS, Chat


async def test_a_message_that_has_joined_is_answered_with_the_first() -> None:
    """Only what it adds is called; the answer tells both."""
    chat = Chat()
    first = await chat.ask("What is the weather in Tokyo?")
    osaka = {**TOKYO, "location": "Osaka, Japan", "current_temp_c": "21"}
    chat.messages += [
        first.response.message,
        results(first.response.message, TOKYO),
        user("And Osaka?"),
    ]
    second = await ask(chat.demo, chat.messages, TOOLS)
    assert second.calls == [("get_weather", {"location": "Osaka"})]
    chat.messages += [second.response.message, results(second.response.message, osaka)]
    answer = await ask(chat.demo, chat.messages, TOOLS)
    assert [word in answer.text for word in ("Tokyo", "18", "Osaka", "21")] == [True] * 4


async def test_a_message_of_another_kind_that_has_joined_is_answered_too() -> None:
    """A sum behind the weather."""
    chat = Chat()
    first = await chat.ask("What is the weather in Tokyo?")
    chat.messages += [first.response.message, results(first.response.message, TOKYO), user("3 * 7")]
    second = await ask(chat.demo, chat.messages, TOOLS)
    assert second.calls == [("calculate", {"expression": "3 * 7"})]
    chat.messages += [
        second.response.message,
        results(second.response.message, {"result": "21", "is_exact": True}),
    ]
    answer = await ask(chat.demo, chat.messages, TOOLS)
    assert ("Tokyo" in answer.text, "21" in answer.text) == (True, True)
