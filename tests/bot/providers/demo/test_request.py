"""What the rules make of a sentence, in both languages."""

from __future__ import annotations

import pytest

from bot.providers.demo.request import Focus, Wish, courtesy, read

TODAY, TOMORROW, AFTER = (0,), (1,), (2,)


def weather(*places: str, days: tuple[int, ...] = (), umbrella: bool = False) -> list[Wish]:
    return [Wish("weather", place, days, umbrella) for place in places]


def charts(place: str, days: tuple[int, ...] = ()) -> list[Wish]:
    return [Wish("weather", place, days, chart=True)]


def poll(question: str, *options: str) -> list[Wish]:
    return [Wish("poll", question, options=options)]


def clock(*places: str, days: tuple[int, ...] = ()) -> list[Wish]:
    return [Wish("time", place, days) for place in places]


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        (
            "What's the weather in Tokyo and Osaka tomorrow?",
            weather("Tokyo", "Osaka", days=TOMORROW),
        ),
        ("What’s the weather like in New York?", weather("New York")),
        ("What is the forecast for London, Paris and Rome?", weather("London", "Paris", "Rome")),
        ("weather in Portland, Oregon", weather("Portland, Oregon")),
        ("weather in St. Louis, please", weather("St. Louis")),
        ("Weather in Rio de Janeiro", weather("Rio de Janeiro")),
        ("São Paulo weather?", weather("São Paulo")),
        ("tokyo weather", weather("tokyo")),
        ("weather oslo", weather("oslo")),
        ("Tokyo and Osaka weather tomorrow", weather("Tokyo", "Osaka", days=TOMORROW)),
        ("Tokyo and Osaka weather for tomorrow", weather("Tokyo", "Osaka", days=TOMORROW)),
        ("weather in Nice", weather("Nice")),
        ("weather in a while", weather("")),
        ("weather oslo in the morning", weather("oslo")),
        ("weather for tomorrow in Tokyo", weather("Tokyo", days=TOMORROW)),
        ("What's the weather in the morning in Oslo", weather("Oslo")),
        ("weather in London for my trip to Paris", weather("London")),
        ("Will it rain in berlin or munich today?", weather("berlin", "munich", days=TODAY)),
        ("Is it hot in Cairo today and tomorrow?", weather("Cairo", days=(0, 1))),
        ("Weather in Nara the day after tomorrow", weather("Nara", days=AFTER)),
        ("do I need an umbrella in Paris?", weather("Paris", umbrella=True)),
        (
            "I'm going to Kyoto tomorrow, do I need an umbrella?",
            weather("Kyoto", days=TOMORROW, umbrella=True),
        ),
        ("Hi Bob, what's the weather in Paris?", weather("Paris")),
        ("the weather in tokyo and osaka and I love you", weather("tokyo", "osaka")),
        (
            "Weather in Tokyo today. Weather in Rome tomorrow.",
            weather("Tokyo", days=TODAY) + weather("Rome", days=TOMORROW),
        ),
        ("weather?", weather("")),
        ("weather @home", weather("")),
        ("<@U123> weather in 東京", weather("東京")),
        ("what time is it?", clock("")),
        ("what time is it in London?", clock("London")),
        ("what's the time in New York and London", clock("New York", "London")),
        ("what's the date today", clock("", days=TODAY)),
        ("time and weather in Rome", clock("Rome") + weather("Rome")),
        (
            "what time is it in Tokyo and what's the weather there?",
            clock("Tokyo") + weather("Tokyo"),
        ),
        ("chart of the weather in Kyoto", charts("Kyoto")),
        ("show me a graph of tomorrow's weather in Osaka", charts("Osaka", days=TOMORROW)),
        ("Paris weather chart, please", charts("Paris")),
        ("京都の天気のグラフ", charts("京都")),
        ("明日の大阪の気温をグラフで見せて", charts("大阪", days=TOMORROW)),
        ("Poll: where do we eat? Sushi, Ramen", poll("where do we eat?", "Sushi", "Ramen")),
        (
            "start a poll: where do we eat, sushi or curry?",
            poll("where do we eat", "sushi", "curry"),
        ),
        ("@Kaiwa poll When? Friday / Saturday / Friday", poll("When?", "Friday", "Saturday")),
        ("投票 どこで食べる？ 寿司、ラーメン", poll("どこで食べる?", "寿司", "ラーメン")),
        (
            "投票を始めてください：いつにする。金曜日・土曜日",
            poll("いつにする", "金曜日", "土曜日"),
        ),
        ("poll: where do we eat?", []),
        ("the poll is over, I think", []),
        ("weather in Kyoto and 3*7", [*weather("Kyoto"), Wish("sum", "3*7")]),
        ("Remind me in 2 minutes to drink water.", [Wish("reminder", "drink water", span="PT2M")]),
        (
            "please remind me to check the weather in 1 hour",
            [Wish("reminder", "check the weather", span="PT1H")],
        ),
        ("2分後に水を飲むようリマインドして", [Wish("reminder", "水を飲む", span="PT2M")]),
        ("３日後に家賃のことを知らせて", [Wish("reminder", "家賃", span="P3D")]),
        ("東京と大阪の天気は？", weather("東京", "大阪")),
        ("明日の札幌の天気", weather("札幌", days=TOMORROW)),
        ("東京都の天気", weather("東京")),
        ("四日市の天気", weather("四日市")),
        ("津の天気は？", weather("津")),
        ("広島県の府中の天気", weather("広島県府中")),
        ("東京タワー周辺の天気", weather("東京タワー")),
        ("さいたまの天気", weather("さいたま")),
        ("Tokyoの天気", weather("Tokyo")),
        ("東京 天気", weather("東京")),
        ("大阪は今何度？", weather("大阪")),
        ("今週末の軽井沢の天気を教えてください", weather("軽井沢")),
        ("本日の東京の最高気温は？", weather("東京", days=TODAY)),
        ("明後日、京都は晴れ？", weather("京都", days=AFTER)),
        ("京都府の天気、あと大阪府も教えて", weather("京都", "大阪")),
        ("パリで傘いる？", weather("パリ", umbrella=True)),
        ("傘いる？", weather("", umbrella=True)),
        ("明日、京都に行くけど、傘は必要？", weather("京都", days=TOMORROW, umbrella=True)),
        ("今夜は雨降る？", weather("", days=TODAY)),
        ("今何時？", clock("")),
        ("ニューヨークは今何時？", clock("ニューヨーク")),
        ("今、日本は何時ですか", clock("日本")),
        ("ソウルとバンコクの時刻", clock("ソウル", "バンコク")),
        ("今日は何曜日？", clock("", days=TODAY)),
        ("ロンドンは今何時で、東京の天気は？", clock("ロンドン") + weather("東京")),
        ("京都の天気と３×７", [*weather("京都"), Wish("sum", "3*7")]),
    ],
)
def test_a_sentence_says_what_is_wished(text: str, wishes: list[Wish]) -> None:
    """Topic, place, days and sums, however they are put."""
    assert read(text, Focus())[0] == wishes


@pytest.mark.parametrize("text", ["/time Tokyo", "/time in Tokyo", "/TIME  Tokyo", "/時刻 Tokyo"])
def test_a_command_is_a_wish(text: str) -> None:
    """Behind a command stands no more than what it is about."""
    assert read(text, Focus())[0] == [Wish("time", "Tokyo")]


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "I love you",
        "How much time do I have",
        "I have a cold",
        "了解",
        "すごい",
        "Tokyo?",
        "明日は？",
        "東京は？",
        "?",
        "",
    ],
)
def test_other_sentences_wish_for_nothing(text: str) -> None:
    """A place or a day alone means nothing while nothing is being talked about."""
    assert read(text, Focus()) == ([], Focus())


@pytest.mark.parametrize(
    ("talk", "wishes"),
    [
        (["weather in Paris", "Tokyo?"], weather("Tokyo")),
        (["weather in Paris", "and Osaka and Nara?"], weather("Osaka", "Nara")),
        (["weather in Paris", "How about Springfield"], weather("Springfield")),
        (["weather in Paris", "Osaka"], weather("Osaka")),
        (["weather in Paris", "what about tomorrow?"], weather("Paris", days=TOMORROW)),
        (["weather in Paris tomorrow", "and Rome?"], weather("Rome", days=TOMORROW)),
        (["weather in Paris", "do I need an umbrella?"], weather("Paris", umbrella=True)),
        (["weather", "in Springfield"], weather("Springfield")),
        (["what time is it in Rome", "and London?"], clock("London")),
        (["what time is it in Rome", "what's the weather there?"], weather("Rome")),
        (["what time is it in Rome", "what time is it?"], clock("")),
        (["what time is it in Rome", "what is the time there?"], clock("Rome")),
        (["東京の天気", "じゃあ大阪は？"], weather("大阪")),
        (["東京の天気", "名古屋"], weather("名古屋")),
        (["東京の天気", "明日は？"], weather("東京", days=TOMORROW)),
        (["傘いる？", "川越"], weather("川越", umbrella=True)),
        (["weather in Paris", "Really?"], []),
        (["weather in Paris", "Great"], []),
        (["weather in Paris", "I leave tomorrow"], []),
        (["東京の天気", "本当？"], []),
        (["東京の天気", "了解"], []),
        (["東京の天気", "ありがとう"], []),
    ],
)
def test_a_sentence_goes_on_with_what_is_talked_about(talk: list[str], wishes: list[Wish]) -> None:
    """Topic, place and day are taken from before where a sentence leaves them out."""
    focus = Focus()
    for text in talk:
        found, focus = read(text, focus)
    assert found == wishes


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hi!", "greeting"),
        ("こんにちは", "greeting"),
        ("Thank you so much", "thanks"),
        ("ありがとうございます", "thanks"),
        ("help", "help"),
        ("何ができますか", "help"),
        ("Are you Gemini?", "who"),
        ("あなたは誰？", "who"),
        ("The sky", ""),
        ("空", ""),
    ],
)
def test_courtesies_are_known(text: str, name: str) -> None:
    """The few words everybody says to a bot."""
    assert courtesy(text) == name
