"""Answers: made of the tools' results, in the user's language, honest about who speaks."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tests.bot.providers.demo.chat import RESULTS, TOKYO, Chat, tools


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "weather in Tokyo",
            "Tokyo, Japan: now partly cloudy, 18 °C; today 11 °C to 19 °C, chance of rain up to "
            "20 %.",
        ),
        (
            "weather in Tokyo tomorrow",
            "Tokyo, Japan: tomorrow light rain, 9 °C to 15 °C, chance of rain up to 80 %.",
        ),
        (
            "weather in Tokyo the day after tomorrow",
            "Tokyo, Japan: I have no forecast for that day.",
        ),
        (
            "umbrella in Tokyo tomorrow?",
            "Tokyo, Japan: tomorrow light rain, 9 °C to 15 °C, chance of rain up to 80 %.\nBetter "
            "take an umbrella.",
        ),
        (
            "東京の天気は？",
            "東京（Tokyo, Japan）：現在はpartly "
            "cloudy、18℃。今日は最低11℃、最高19℃、降水確率は最大20%。",
        ),
        (
            "今日は東京で傘いる？",
            "東京（Tokyo, Japan）：現在はpartly "
            "cloudy、18℃。今日は最低11℃、最高19℃、降水確率は最大20%。\n"
            "傘はなくても大丈夫そうです。",
        ),
        ("what time is it?", "It is 23:05 on Thursday, 2026-12-31 (Asia/Tokyo)."),
        ("what time is it in Osaka?", "Osaka: 23:05 on Thursday, 2026-12-31."),
        ("what day is it tomorrow?", "Friday, 2027-01-01, is tomorrow."),
        ("大阪は今何時？", "大阪は2026年12月31日（木曜日）23:05です。"),
        ("明日は何曜日？", "明日は2027年1月1日（金曜日）です。"),
        ("3*7", "3*7 = 21"),
        ("3×7は？", "3*7 = 21"),
        ("the time and 3*7", "It is 23:05 on Thursday, 2026-12-31 (Asia/Tokyo).\n3*7 = 21"),
        ("weather?", "For which place?"),
        ("傘いる？", "どこの天気をお調べしますか？"),
        (
            "time in Springfield?",
            "I do not know the time zone of Springfield. Try the largest city nearby.",
        ),
        ("thanks!", "You are welcome."),
        ("ありがとう", "どういたしまして。"),
    ],
)
async def test_answers_are_made_of_the_results(text: str, answer: str) -> None:
    """In the user's language, with what was asked for."""
    assert await Chat().say(text) == answer


@pytest.mark.parametrize(
    ("text", "error", "answer"),
    [
        (
            "weather in Atlantis",
            "location not found",
            "I could not find Atlantis. Is the name spelled right?",
        ),
        (
            "アトランティスの天気",
            "location not found",
            "「アトランティス」が見つかりませんでした。地名をご確認ください。",
        ),
        (
            "weather in Rome",
            "API request failed: timeout",
            "The weather service gave no usable answer for Rome. Please try again later.",
        ),
        ("1/0", "division by zero", "1/0 has no result: nothing can be divided by zero."),
        ("9**9**9", "the numbers get too large", "I could not work out 9**9**9."),
        (
            "今何時？",
            "timed out after 3 s",
            "時刻を調べられませんでした。少し時間をおいて、もう一度お試しください。",
        ),
    ],
)
async def test_failures_are_told_kindly(text: str, error: str, answer: str) -> None:
    """In our words and the user's language, not the tool's."""
    failing = {name: {"error": error} for name in RESULTS}
    assert await Chat(failing).say(text) == answer


async def test_an_open_place_is_asked_back() -> None:
    """A note says that another place may be meant; the place that was found stands in the
    answer."""
    fuchu = {
        **TOKYO,
        "location": "Fuchu, Tokyo, Japan",
        "days": [],
        "note": "府中 may be the one in Hiroshima. Ask.",
    }
    answer = await Chat({"get_weather": fuchu}).say("府中の天気")
    assert answer == (
        "府中（Fuchu, Tokyo, Japan）：現在はpartly cloudy、18℃。\n"
        "別の場所でしたら、都道府県名や国名を添えてもう一度お聞きください。"
    )


async def test_a_report_may_lack_nearly_everything() -> None:
    """What is absent is left out; Fahrenheit comes where the tool gives it."""
    sparse = {
        "location": "Nome",
        "current_temp_f": "14",
        "days": [{"day": "today", "high_f": "20"}],
    }
    assert (
        await Chat({"get_weather": sparse}).say("umbrella in Nome?")
        == "Nome: now 14 °F; today 20 °F."
    )
    assert await Chat({"get_weather": {"output": "…"}}).say("weather in Nome") == (
        "The weather service gave no usable answer for Nome. Please try again later."
    )


async def test_a_rounded_result_says_so() -> None:
    """What is not exact does not get an equals sign."""
    rounded = {"calculate": {"result": "1.4142135623731", "is_exact": False}}
    assert await Chat(rounded).say("2 ** 0.5") == "2 ** 0.5 ≈ 1.4142135623731"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("3*7", "3*7 = 21\n\n(This is the built-in demo model"),
        ("3×7は？", "3*7 = 21\n\n（これは内蔵のデモモデルです。"),
        ("Hi", "Hello!\nThis is what I can answer: "),
        ("Blah", "I am only the demo model and did not understand that."),
        ("Are you Gemini?", "I am the built-in demo model"),
        ("help", "This is what I can answer: "),
    ],
)
async def test_the_first_answer_says_who_speaks(text: str, start: str) -> None:
    """Once, whatever was asked, with the variable that brings the real model."""
    answer = await Chat(said_before=False).say(text)
    assert answer.startswith(start)
    assert answer.count("GEMINI_API_KEY") == 1
    assert ("demo model" in answer) != ("デモモデル" in answer)


async def test_later_answers_do_not_say_it_again() -> None:
    """Also when the first answer took a tool."""
    chat = Chat(said_before=False)
    assert "GEMINI_API_KEY" in await chat.say("weather in Tokyo")
    assert [await chat.say(text) for text in ("3*7", "thanks")] == ["3*7 = 21", "You are welcome."]


@pytest.mark.parametrize(
    "text", ["Write me a poem", "詩を書いて", "Are you Gemini?", "あなたはGeminiですか"]
)
async def test_it_never_passes_for_more(text: str) -> None:
    """What it cannot do it says, and what it is, each time."""
    answer = await Chat().say(text)
    assert "GEMINI_API_KEY" in answer
    assert "demo model" in answer or "デモモデル" in answer


@pytest.mark.parametrize("name", RESULTS)
def test_these_results_are_what_the_tools_give(name: str) -> None:
    """The answers above are made from results that fit the tools' own schemas."""
    (tool,) = tools(name)
    Draft202012Validator(tool.response).validate(RESULTS[name])
