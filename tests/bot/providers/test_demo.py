"""The demo model: its calls for what people ask in both languages, and honest answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bot.providers import AUTO, NONE, TextDelta, ToolChoice
from bot.providers.demo.client import Demo
from bot.texts import LANGUAGES, load
from bot.transcript import Media, Message
from tests.bot.providers.asking import Reply, ask, declared, model, results, user
from toolset.tool import ToolDefinition

TOOLS = declared()
TEXTS = load()
TOKYO = {
    "location": "Tokyo, Japan",
    "condition": "Partly cloudy",
    "current_temp_c": "18",
    "days": [],
}
NEW_YEAR = {
    "datetime": "2026-12-31T23:05:00+09:00",
    "date": "2026-12-31",
    "weekday": "Thursday",
    "time": "23:05",
    "time_zone": "Asia/Tokyo",
    "utc_offset": "+09:00",
}
REMINDER = {
    "id": "r1",
    "text": "drink water",
    "at": "2026-11-22T12:02",
    "weekday": "Sunday",
    "time_zone": "Asia/Tokyo",
}
EXAMPLES = [("offer_choices", {"choices": ["Tokyo", "New York", "Paris"]})]
RESULTS: dict[str, dict[str, Any]] = {
    "get_weather": TOKYO,
    "get_current_time": NEW_YEAR,
    "calculate": {"result": "21", "is_exact": True},
    "set_reminder": REMINDER,
    "add_to_list": {"numbers": [1, 2]},
    "start_poll": {"poll": "poll_1"},
    "offer_choices": {"shown": "below your answer"},
}


class Chat:
    """A conversation with the demo model; every tool answers the same each time."""

    def __init__(
        self, responses: Mapping[str, dict[str, Any]] = RESULTS, *, is_new: bool = False
    ) -> None:
        self.demo = Demo(TEXTS)
        self.responses = responses
        self.messages: list[Message] = [] if is_new else [model("Hello!")]

    async def ask(self, text: str) -> Reply:
        """One request with the user's words."""
        self.messages.append(user(text))
        return await ask(self.demo, self.messages, TOOLS)

    async def say(self, text: str) -> str:
        """A whole turn; gives the answer."""
        asked = await self.ask(text)
        while asked.calls:
            responses = [self.responses[name] for name, _ in asked.calls]
            message = asked.response.message
            self.messages += [message, results(message, *responses)]
            asked = await ask(self.demo, self.messages, TOOLS)
        self.messages.append(asked.response.message)
        return asked.text


def weather(*places: str, **others: bool) -> list[tuple[str, dict[str, Any]]]:
    return [("get_weather", {"location": place, **others}) for place in places]


def clock(*zones: str) -> list[tuple[str, dict[str, Any]]]:
    return [("get_current_time", {"time_zone": zone} if zone else {}) for zone in zones]


def total(expression: str) -> list[tuple[str, dict[str, Any]]]:
    return [("calculate", {"expression": expression})]


def reminder(text: str, span: str) -> list[tuple[str, dict[str, Any]]]:
    return [("set_reminder", {"text": text, "in": span})]


def poll(question: str, *options: str) -> list[tuple[str, dict[str, Any]]]:
    return [("start_poll", {"question": question, "options": list(options)})]


def to_list(name: str, *items: str) -> list[tuple[str, dict[str, Any]]]:
    return [("add_to_list", {"list": name, "items": list(items)})]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("What's the weather in Tokyo and Osaka tomorrow?", weather("Tokyo", "Osaka")),
        ("What’s the weather like in New York?", weather("New York")),
        ("São Paulo weather?", weather("São Paulo")),
        ("Hello Kaiwa, how is the weather in Rome?", weather("Rome")),
        ("Good morning Kaiwa! Paris weather", weather("Paris")),
        ("Hi, Rome weather", weather("Rome")),
        ("おはようございます、カイワさん。京都の天気は？", weather("京都")),
        ("こんにちは、東京、明日の天気は？", weather("東京")),
        ("Hello Kaiwa, how is the weather?", EXAMPLES),
        ("tokyo weather", weather("tokyo")),
        ("I'm going to Kyoto tomorrow, do I need an umbrella?", weather("Kyoto")),
        ("<@U123> weather in 東京", weather("東京")),
        ("東京と大阪の天気は？", weather("東京", "大阪")),
        ("明日、京都に行くけど、傘は必要？", weather("京都")),
        ("今週末の軽井沢の天気を教えてください", weather("軽井沢")),
        ("津の天気は？", weather("津")),
        ("weather in Rome, weather in Rome", weather("Rome")),
        ("weather?", EXAMPLES),
        ("今夜は雨降る？", [("offer_choices", {"choices": ["東京", "大阪", "札幌"]})]),
        ("chart of the weather in Kyoto", weather("Kyoto", chart=True)),
        ("明日の大阪の気温をグラフで見せて", weather("大阪", chart=True)),
        ("what time is it?", clock("")),
        ("What time is it in New York?", clock("America/New_York")),
        ("the time in Tokyo and Osaka", clock("Asia/Tokyo")),
        ("/time New York", clock("America/New_York")),
        ("/時刻 ニューヨーク", clock("America/New_York")),
        ("今何時？", clock("")),
        ("今、日本は何時ですか", clock("Asia/Tokyo")),
        ("what time is it in Springfield?", clock("Springfield")),
        ("time and weather in Rome", [*weather("Rome"), *clock("Europe/Rome")]),
        ("12 * (3 + 4)", total("12 * (3 + 4)")),
        ("What is 18% of 2,450?", total("2450 * 18%")),
        ("2,450の18%はいくつ？", total("2450 * 18%")),
        ("3たす4は？", total("3+4")),
        ("12×(3+4)は？", total("12*(3+4)")),
        ("2^10", total("2^10")),
        ("What is the square root of 16?", total("16 ** 0.5")),
        ("２の平方根は？", total("2 ** 0.5")),
        ("What is 9-5?", total("9-5")),
        ("京都の天気と３×７", [*weather("京都"), *total("3*7")]),
        ("on 2024-05-01", []),
        ("090-1234-5678", []),
        ("remind me in 2 minutes to drink water.", reminder("drink water", "PT2M")),
        ("Remind me in 5 minutes: tea", reminder("tea", "PT5M")),
        ("remind me in 90 seconds", []),
        ("remind me to check the weather in 1 hour", reminder("check the weather", "PT1H")),
        ("３日後に家賃のことを知らせて", reminder("家賃", "P3D")),
        ("Poll: where do we eat? Sushi, Ramen", poll("where do we eat?", "Sushi", "Ramen")),
        ("@Kaiwa poll When? Friday / Saturday / Friday", poll("When?", "Friday", "Saturday")),
        ("投票 どこで食べる？ 寿司、ラーメン", poll("どこで食べる?", "寿司", "ラーメン")),
        ("Put milk and eggs on the shopping list", to_list("shopping", "milk", "eggs")),
        ("please add oat milk, tea to our packing list.", to_list("packing", "oat milk", "tea")),
        ("買い物リストに牛乳と卵を追加して", to_list("買い物", "牛乳", "卵")),
        ("持ち物リストにとうふ、なっとうを入れて", to_list("持ち物", "とうふ", "なっとう")),
        ("Put , on the shopping list", []),
        ("Hello", []),
        ("Write me a poem", []),
        ("", []),
    ],
)
async def test_what_is_asked_becomes_calls(
    text: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """All at once, each call once; whoever names no place gets places to choose from."""
    assert (await Chat().ask(text)).calls == calls


@pytest.mark.parametrize("language", LANGUAGES)
async def test_it_understands_the_six_questions_that_the_page_offers_for_it(language: str) -> None:
    """Each calls the tool that it is for."""
    understood, starters = TEXTS.table("demo", language), TEXTS.table("starter", language)
    offered = {name: text for name, text in starters.items() if f"can_{name}" in understood}
    assert len(offered) == 6
    for name, text in offered.items():
        assert [called for called, _ in (await Chat().ask(text)).calls] == [name]


@pytest.mark.parametrize(
    ("before", "text", "calls"),
    [
        ("weather?", "Tokyo", weather("Tokyo")),
        ("傘いる？", "川越", weather("川越")),
        ("weather in Paris", "and Osaka and Nara?", weather("Osaka", "Nara")),
        ("東京の天気", "じゃあ大阪は？", weather("大阪")),
        ("weather in Paris", "what about tomorrow?", weather("Paris")),
        ("weather in Paris", "And a chart?", weather("Paris", chart=True)),
        ("what time is it in Rome", "London?", clock("Europe/London")),
        ("weather in Paris", "Really?", []),
        ("東京の天気", "ありがとう", []),
    ],
)
async def test_a_place_alone_has_the_topic_before(
    before: str, text: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """As a pressed choice is one; other words start nothing."""
    chat = Chat()
    await chat.say(before)
    assert (await chat.ask(text)).calls == calls


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("weather in Tokyo", "Tokyo, Japan: Partly cloudy, 18 °C. The days to come are below."),
        ("東京の天気", "Tokyo, Japan：Partly cloudy、18℃。この先の天気は下にあります。"),
        ("weather?", "For which place?"),
        ("what time is it?", "23:05 on Thursday, 2026-12-31 (Asia/Tokyo)."),
        ("大阪は今何時？", "2026-12-31（木）23:05（Asia/Tokyo）"),
        ("Thank you very much!", "You are welcome."),
        ("どうもありがとうございます。", "どういたしまして。"),
        ("3*7", "3*7 = 21"),
        ("remind me in 2 minutes to rest", "I will remind you at 2026-11-22 12:02: rest"),
        ("Put milk and eggs on the shopping list", "On the list now: milk and eggs"),
        ("買い物リストに牛乳と卵を追加して", "リストに追加しました：牛乳と卵"),
        ("投票 どこで食べる？ 寿司、ラーメン", "投票をお願いします。"),
        ("3*7, what time is it?", "23:05 on Thursday, 2026-12-31 (Asia/Tokyo).\n3*7 = 21"),
    ],
)
async def test_answers_are_made_of_the_results(text: str, answer: str) -> None:
    """In the user's language."""
    assert await Chat().say(text) == answer


async def test_a_failure_is_stated_with_its_reason() -> None:
    """Also where a result has not what its sentence needs."""
    chat = Chat({"calculate": {"error": "division by zero"}, "get_weather": {"output": "…"}})
    assert await chat.say("1/0") == "That did not work: 1/0 (division by zero)."
    assert await chat.say("東京の天気") == "うまくいきませんでした：東京（?）。"


async def test_a_message_that_has_joined_is_answered_with_the_first() -> None:
    """Only what it adds is called; the answer has both."""
    chat = Chat()
    first = (await chat.ask("What is the weather in Tokyo?")).response.message
    chat.messages += [first, results(first, TOKYO), user("And Osaka?"), user("3 * 7")]
    second = await ask(chat.demo, chat.messages, TOOLS)
    assert second.calls == [*weather("Osaka"), *total("3 * 7")]
    osaka = {**TOKYO, "location": "Osaka, Japan"}
    message = second.response.message
    chat.messages += [message, results(message, osaka, {"result": "21"})]
    answer = (await ask(chat.demo, chat.messages, TOOLS)).text
    assert [line[:6] for line in answer.splitlines()] == ["Tokyo,", "Osaka,", "3 * 7 "]


async def test_only_what_is_offered_is_called_and_promised() -> None:
    """A tool that is not declared is neither called nor named as an example."""
    demo = Demo(TEXTS)
    offered = [tool for tool in TOOLS if tool.name == "get_current_time"]
    asked = await ask(demo, [model("Hi"), user("weather and time in London, 3*7")], offered)
    assert asked.calls == clock("Europe/London")
    asked = await ask(demo, [model("Hi"), user("weather in Rome")], offered)
    assert asked.text == "I cannot find that out here (Rome)."
    asked = await ask(demo, [model("Hi"), user("help")], offered)
    assert asked.text.splitlines()[1:] == [
        "This is what I can answer:",
        "“What time is it in London?”",
    ]
    asked = await ask(demo, [model("Hi"), user("何ができる？")])
    assert asked.text.endswith("ここには使えるツールがありません。")


async def test_without_calls_it_answers_with_what_it_has() -> None:
    """The last request of a long turn: some results are there, some never will be."""
    messages = [model("Hi"), user("3*7 and what time is it?")]
    first = (await ask(Demo(TEXTS), messages, TOOLS)).response.message
    answer = await ask(Demo(TEXTS), messages, TOOLS, NONE)
    assert answer.text.splitlines() == [
        "I cannot find that out here (the time).",
        "I cannot find that out here (3*7).",
    ]
    messages += [first, results(first, NEW_YEAR, {"result": "21"})]
    assert "3*7 = 21" in (await ask(Demo(TEXTS), messages, TOOLS, NONE)).text


@pytest.mark.parametrize(
    ("choice", "names", "calls"),
    [
        (ToolChoice("required"), ["get_weather", "calculate"], weather("Tokyo")),
        (ToolChoice("required"), ["calculate"], total("1 + 1")),
        (ToolChoice("one", "get_current_time"), ["get_weather", "get_current_time"], clock("")),
        (ToolChoice("one", "calculate"), ["get_weather"], []),
        (ToolChoice("required"), [], []),
        (AUTO, ["get_weather"], []),
    ],
)
async def test_a_forced_call_is_made_whatever_was_said(
    choice: ToolChoice, names: list[str], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Of the tools that are offered, and none without any."""
    offered = sorted(
        (tool for tool in TOOLS if tool.name in names), key=lambda tool: names.index(tool.name)
    )
    assert (await ask(Demo(TEXTS), [user("Hello")], offered, choice)).calls == calls


async def test_an_unknown_tool_is_called_when_nothing_else_may_be() -> None:
    """With nothing in it, and its result is shown as it is."""
    dice = [ToolDefinition("roll_dice", "Rolls.", {"type": "object"}, {"type": "object"})]
    messages = [model("Hi"), user("Roll!")]
    asked = await ask(Demo(TEXTS), messages, dice, ToolChoice("required"))
    assert asked.calls == [("roll_dice", {})]
    message = asked.response.message
    messages += [message, results(message, {"eyes": 6})]
    assert (await ask(Demo(TEXTS), messages, dice)).text == 'roll_dice: {"eyes":6}'


async def test_pictures_cannot_be_seen() -> None:
    """It says so."""
    asked = await ask(Demo(TEXTS), [model("Hi"), user(Media("1", "image/jpeg"))], TOOLS)
    assert asked.text == "I cannot look at images or files."


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("3*7", "3*7 = 21\n\n(This is the built-in demo model"),
        ("3×7は？", "3*7 = 21\n\n（これは内蔵のデモモデルです。"),
        ("Hi", "Hello!\nThis is what I can answer:\n"),
        ("Are you Gemini?", "I am only the built-in demo model"),
    ],
)
async def test_the_first_answer_says_who_speaks(text: str, start: str) -> None:
    """Once, whatever was asked, with the variable that brings the real model."""
    chat = Chat(is_new=True)
    answer = await chat.say(text)
    assert answer.startswith(start)
    assert answer.count("GEMINI_API_KEY") == 1
    assert ("demo model" in answer) != ("デモモデル" in answer)
    assert await chat.say("3*7") == "3*7 = 21"


@pytest.mark.parametrize(
    "text", ["Write me a poem", "A poem, thanks", "詩を書いて", "あなたはGeminiですか"]
)
async def test_it_never_passes_for_more(text: str) -> None:
    """What it cannot do it says, and what it is, each time."""
    answer = await Chat().say(text)
    assert "GEMINI_API_KEY" in answer
    assert "demo model" in answer or "デモモデル" in answer


@pytest.mark.parametrize(
    ("before", "default", "answer"),
    [
        ([], "ja", "簡単なルール"),
        ([], "en", "I am only"),
        (["こんにちは"], "en", "簡単なルール"),
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


async def test_answers_come_in_small_pieces_and_count_tokens() -> None:
    """Somebody watches them appear, also in Japanese, which has no spaces."""
    asked = await ask(Demo(TEXTS), [user("使い方")], TOOLS)
    pieces = [event.text for event in asked.events if isinstance(event, TextDelta)]
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 25
    longer = await ask(Demo(TEXTS), [user("使い方 " * 100)], TOOLS)
    assert 0 < asked.response.usage.input < longer.response.usage.input


@pytest.mark.parametrize("name", RESULTS)
def test_these_results_are_what_the_tools_give(name: str) -> None:
    """The answers above are made from results that fit the tools' own schemas."""
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    Draft202012Validator(tool.response).validate(RESULTS[name])


ENGLISH = ["weather", "in", "Tokyo", "and", "what", "time", "is", "it", "umbrella", "tomorrow"]
WORDS = st.sampled_from([*ENGLISH, "天気", "大阪", "今", "何時", "明日", *"のはと傘3+4*()%,?. @\n"])


@settings(deadline=None)  # the first look-up of a time zone reads the disk
@given(
    st.text(max_size=80)
    | st.lists(WORDS, max_size=30).map(" ".join)
    | st.lists(WORDS, max_size=30).map("".join)
)
async def test_any_text_gets_an_answer_or_calls_that_fit(text: str) -> None:
    """Nothing raises, and what is called fits the tools' schemas."""
    schemas = {tool.name: Draft202012Validator(tool.parameters) for tool in TOOLS}
    messages = [user("weather in Rome"), model("Sunny."), user(text)]
    asked = await ask(Demo(TEXTS), messages, TOOLS)
    assert asked.calls or asked.text
    for name, arguments in asked.calls:
        schemas[name].validate(arguments)
