"""The demo model: which tools it calls, and that there is always an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bot.providers import AUTO, NONE, TextDelta, ToolChoice
from bot.providers.demo.client import MOST_CALLS, Demo
from bot.transcript import Media
from tests.bot.providers.asking import ask, model, results, user
from tests.bot.providers.demo.chat import NEW_YEAR, TEXTS, TOOLS, Chat, tools
from toolset.tool import ToolDefinition


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            "What's the weather in Tokyo and Osaka tomorrow?",
            [("get_weather", {"location": "Tokyo"}), ("get_weather", {"location": "Osaka"})],
        ),
        (
            "東京と大阪の天気は?",
            [("get_weather", {"location": "東京"}), ("get_weather", {"location": "大阪"})],
        ),
        ("what time is it in London?", [("get_current_time", {"time_zone": "Europe/London"})]),
        ("今何時?", [("get_current_time", {})]),
        ("15% of 240?", [("calculate", {"expression": "240 * 15%"})]),
        ("３たす４は？", [("calculate", {"expression": "3+4"})]),
        (
            "weather in Kyoto and 3*7",
            [("get_weather", {"location": "Kyoto"}), ("calculate", {"expression": "3*7"})],
        ),
        ("the time in Tokyo and Osaka", [("get_current_time", {"time_zone": "Asia/Tokyo"})]),
        ("weather in Rome, weather in Rome", [("get_weather", {"location": "Rome"})]),
        ("Hello", []),
        ("weather?", [("offer_choices", {"choices": ["Tokyo", "New York", "Paris"]})]),
        ("天気は?", [("offer_choices", {"choices": ["東京", "大阪", "札幌"]})]),
        ("what time is it in Springfield?", []),
    ],
)
async def test_wishes_become_calls(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """All at once, each call once; a wish for no place gets places to choose from."""
    assert (await Chat().ask(text)).calls == calls


async def test_a_reminder_is_set_and_confirmed() -> None:
    """With the time that the tool says, or its reason why not."""
    wish = "remind me in 2 minutes to drink water"
    assert (await Chat().ask(wish)).calls == [
        ("set_reminder", {"text": "drink water", "in": "PT2M"})
    ]
    said = await Chat({"set_reminder": {"at": "2026-11-22T12:02"}}).say(wish)
    assert said == "I will remind you at 2026-11-22 12:02: drink water"
    assert "(too many)" in await Chat({"set_reminder": {"error": "too many"}}).say(wish)


async def test_a_poll_is_started_and_announced() -> None:
    """Its card follows the answer, so that does not repeat it; or the tool's reason why not."""
    wish = "投票 どこで食べる？ 寿司、ラーメン"
    call = ("start_poll", {"question": "どこで食べる?", "options": ["寿司", "ラーメン"]})
    assert (await Chat().ask(wish)).calls == [call]
    assert await Chat({"start_poll": {"poll": "poll_1"}}).say(wish) == "投票をお願いします。"
    assert "（too many）" in await Chat({"start_poll": {"error": "too many"}}).say(wish)


async def test_a_chart_is_asked_for_with_the_weather() -> None:
    """Also of the place that is being talked about."""
    chat = Chat()
    chart = ("get_weather", {"location": "Tokyo", "chart": True})
    assert (await chat.ask("chart of the weather in Tokyo")).calls == [chart]
    chat = Chat()
    await chat.say("weather in Tokyo")
    assert (await chat.ask("And a chart?")).calls == [chart]


async def test_a_place_alone_goes_on_with_the_weather() -> None:
    """The history says what is being talked about."""
    chat = Chat()
    await chat.say("Do I need an umbrella in Paris tomorrow?")
    asked = await chat.ask("Tokyo?")
    assert asked.calls == [("get_weather", {"location": "Tokyo"})]


async def test_only_what_is_offered_is_called_and_promised() -> None:
    """A tool that is not declared is neither called nor named as an example."""
    demo, clock = Demo(TEXTS), tools("get_current_time")
    asked = await ask(
        demo, [model("Hi"), user("weather in Rome and 3*7 and the time in London")], clock
    )
    assert asked.calls == [("get_current_time", {"time_zone": "Europe/London"})]
    asked = await ask(demo, [model("Hi"), user("weather in Rome")], clock)
    assert asked.text == "I cannot find that out here (Rome)."
    asked = await ask(demo, [model("Hi"), user("help")], clock)
    assert asked.text == "This is what I can answer: “What time is it in London?”."
    asked = await ask(demo, [model("Hi"), user("何ができる？")])
    assert asked.text == "ここには使えるツールがありません。"


async def test_without_calls_it_answers_with_what_it_has() -> None:
    """The last request of a long turn: some results are there, some never will be."""
    chat = Chat()
    asked = await chat.ask("3*7 and what time is it?")
    told = [user("3*7"), user("and what time is it?")]
    first = asked.response.message
    assert [name for name, _ in asked.calls] == ["get_current_time", "calculate"]
    answer = await ask(
        chat.demo,
        [model("Hi"), *told, first, results(first, NEW_YEAR, {"result": "21"})],
        TOOLS,
        NONE,
    )
    assert answer.text == "3*7 = 21\nIt is 23:05 on Thursday, 2026-12-31 (Asia/Tokyo)."
    answer = await ask(chat.demo, [model("Hi"), *told], TOOLS, NONE)
    assert (
        answer.text == "I cannot find that out here (3*7).\nI cannot find that out here (the time)."
    )


@pytest.mark.parametrize(
    ("choice", "names", "calls"),
    [
        (
            ToolChoice("required"),
            ["get_weather", "calculate"],
            [("get_weather", {"location": "Tokyo"})],
        ),
        (ToolChoice("required"), ["calculate"], [("calculate", {"expression": "1 + 1"})]),
        (
            ToolChoice("one", "get_current_time"),
            ["get_weather", "get_current_time"],
            [("get_current_time", {})],
        ),
        (ToolChoice("one", "calculate"), ["get_weather"], []),
        (ToolChoice("required"), [], []),
        (AUTO, ["get_weather"], []),
    ],
)
async def test_a_tool_choice_is_obeyed(
    choice: ToolChoice, names: list[str], calls: list[tuple[str, object]]
) -> None:
    """Somebody who must call does, even when nothing is wished for; what does not exist is not
    called."""
    assert (await ask(Demo(TEXTS), [user("Hello")], tools(*names), choice)).calls == calls


async def test_a_forced_tool_comes_before_other_wishes() -> None:
    """One tool by name leaves the others for the next request."""
    question = [user("weather in Rome and 3*7")]
    asked = await ask(Demo(TEXTS), question, TOOLS, ToolChoice("one", "calculate"))
    assert asked.calls == [("calculate", {"expression": "3*7"})]
    message = asked.response.message
    asked = await ask(Demo(TEXTS), [*question, message, results(message, {"result": "21"})], TOOLS)
    assert asked.calls == [("get_weather", {"location": "Rome"})]


async def test_an_unknown_tool_is_called_when_nothing_else_may_be() -> None:
    """With nothing in it, and its result is shown as it is."""
    unknown = ToolDefinition("roll_dice", "Rolls.", {"type": "object"}, {"type": "object"})
    asked = await ask(Demo(TEXTS), [model("Hi"), user("Roll!")], [unknown], ToolChoice("required"))
    assert asked.calls == [("roll_dice", {})]
    message = asked.response.message
    answer = await ask(
        Demo(TEXTS), [model("Hi"), user("Roll!"), message, results(message, {"eyes": 6})], [unknown]
    )
    assert answer.text == 'roll_dice: {"eyes":6}'


async def test_many_wishes_take_several_rounds() -> None:
    """No response holds more calls than a person would want to approve, and none is repeated or
    lost."""
    chat = Chat()
    sums = [f"{number} + 1" for number in range(MOST_CALLS + 3)]
    asked = await chat.ask(", ".join(sums))
    assert [arguments["expression"] for _, arguments in asked.calls] == sums[:MOST_CALLS]
    answer = await Chat().say(", ".join(sums))
    assert answer.splitlines() == [f"{expression} = 21" for expression in sums]


async def test_messages_that_waited_together_are_all_answered() -> None:
    """Several messages of the user's are one turn."""
    asked = await ask(
        Demo(TEXTS), [user("weather in Rome"), user("and in Paris"), user("3*7")], TOOLS
    )
    assert [name for name, _ in asked.calls] == ["get_weather", "get_weather", "calculate"]


async def test_pictures_cannot_be_seen() -> None:
    """It says so, beside whatever else was asked."""
    picture = Media("1", "image/jpeg")
    assert (
        await ask(Demo(TEXTS), [model("Hi"), user(picture)], TOOLS)
    ).text == "I cannot look at images or files."
    tools = [tool for tool in TOOLS if tool.name != "offer_choices"]
    asked = await ask(Demo(TEXTS), [model("Hi"), user("weather?", picture)], tools)
    assert asked.text == "For which place?\nI cannot look at images or files."


@pytest.mark.parametrize(
    ("before", "default", "answer"),
    [
        ([], "ja", "デモモデルのため"),
        ([], "en", "I am only"),
        (["こんにちは"], "en", "デモモデルのため"),
        (["こんにちは", "Hello"], "ja", "I am only"),
    ],
)
async def test_signs_are_answered_in_the_language_of_before(
    before: list[str], default: str, answer: str
) -> None:
    """A message without letters has no language: the conversation's counts, else the operator's."""
    history = [message for text in before for message in (user(text), model("OK"))]
    asked = await ask(Demo(TEXTS, default), [*history, user("!?")], TOOLS)
    assert asked.text.startswith(answer)


async def test_answers_come_in_small_pieces() -> None:
    """Somebody watches them appear, also in Japanese, which has no spaces."""
    for text in ("help", "使い方"):
        asked = await ask(Demo(TEXTS), [user(text)], TOOLS)
        pieces = [event.text for event in asked.events if isinstance(event, TextDelta)]
        assert len(pieces) > 20
        assert max(map(len, pieces)) < 25


async def test_tokens_are_counted_roughly() -> None:
    """The operator's numbers move: a longer conversation costs more."""
    demo = Demo(TEXTS)
    short = (await ask(demo, [user("Hi")], TOOLS)).response.usage
    long = (await ask(demo, [user("Hi " * 100), user("Hi")], TOOLS)).response.usage
    assert 0 < short.input < long.input
    assert short.output > 0


ENGLISH = ["weather", "in", "Tokyo", "and", "what", "time", "is", "it", "umbrella", "tomorrow"]
WORDS = st.sampled_from(
    [*ENGLISH, "天気", "大阪", "今", "何時", "明日", "あす", *"のはと傘3+4*()%,?. @\n"]
)


@settings(deadline=None)  # the first look-up of a time zone reads the disk
@given(
    st.text(max_size=80)
    | st.lists(WORDS, max_size=30).map(" ".join)
    | st.lists(WORDS, max_size=30).map("".join)
)
async def test_any_text_gets_an_answer_or_calls_that_fit(text: str) -> None:
    """Nothing raises, and what is called fits the tools' schemas."""
    schemas = {tool.name: Draft202012Validator(tool.parameters) for tool in TOOLS}
    asked = await ask(Demo(TEXTS), [user("weather in Rome"), model("Sunny."), user(text)], TOOLS)
    assert asked.calls or asked.text
    for name, arguments in asked.calls:
        schemas[name].validate(arguments)
