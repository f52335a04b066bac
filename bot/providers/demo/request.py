"""What people ask the demo model for: a table of intents with their words in both languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from bot.texts import language_of
from bot.transcript import Message, ToolResult

# The rules read so many characters of a message.
READ_AT_MOST = 500
MOST_OPTIONS = 10
MOST_ITEMS = 20
LONGEST_PLACE = 60
EXAMPLES = {"en": ["Tokyo", "New York", "Paris"], "ja": ["東京", "大阪", "札幌"]}

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a message asks for, and the call that finds it out."""

    intent: str
    subject: str
    call: Call


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


SPANS = {"second": "PT{}S", "minute": "PT{}M", "hour": "PT{}H", "day": "P{}D"}
SPANS |= {"秒": "PT{}S", "分": "PT{}M", "時間": "PT{}H", "日": "P{}D"}
NUMBER = r"\d+(?:\.\d+)?"
SIGNS = {
    rf"(?:the )?square root of ({NUMBER})|√\s*({NUMBER})|({NUMBER})\s*の平方根": r"\1\2\3 ** 0.5",
    r"(?<=\d),(?=\d{3}(?!\d))": "",
    rf"({NUMBER})\s*(?:%|percent)\s*of\s*({NUMBER})": r"\2 * \1%",
    rf"({NUMBER})\s*の\s*({NUMBER})\s*(?:%|パーセント)": r"\1 * \2%",
    r"\bplus\b|足す|たす": "+",
    r"\bminus\b|引く|ひく|−": "-",
    r"\btimes\b|掛ける|かける|×|(?<=\d)\s*x\s*(?=\d)": "*",
    r"\bdivided by\b|割る|わる|÷": "/",
}
# Neither a date nor a telephone number.
SUM = re.compile(
    r"(?<![\d.])(?<!\d[-/])(?!\d+(?:[-/]\d+){2}|0\d+-)[-+(]*"
    rf"{NUMBER}%?(?:[\s)]*(?:\*\*|//|[-+*/%^])[-+(\s]*{NUMBER}%?)+\)*"
)
REMINDER = _words(
    r"\bremind me(?: to| that| about| of)?(?P<what>.*?)\bin (?P<number>[1-9]\d{0,2}) "
    r"(?P<unit>second|minute|hour|day)s?\b,?(?: to| that| about| of)?(?P<then>.*?)[\s.!]*$"
)
REMINDER_JA = _words(
    r"(?P<number>[1-9]\d{0,2})(?P<unit>秒|分|時間|日)後に[、 ]?(?P<what>.+?)(?P<then>)"
    r"(?:よう|のこと|こと|って|と|を|に)*(?:リマインド|思い出させ|知らせ|お知らせ|通知)"
)
POLL = _words(
    r"^\W*(?:(?:please )?(?:start )?(?:a )?poll\b|(?:投票|アンケート)(?:を始めて)?)[\s:、。,-]+"
    r"(?P<question>[^?。\n,、]+[?。\n,、])(?P<options>.+)"
)
BETWEEN_OPTIONS = _words(r"[,、/・\n]|\bor\b|それとも|または")
LIST = _words(
    r"^\W*(?:please )?(?:put|add) (?P<items>.{1,200}?) (?:on|to|onto) (?:the|my|our) "
    r"(?P<list>\S.{0,49}?) list\b"
)
LIST_JA = _words(
    r"(?P<list>[^\s、。]{1,50})リストに[、 ]?(?P<items>.{1,200}?)を(?:追加|入れ|加え|書)"
)
# Kana alone may be one word, as とうふ is.
BETWEEN_ITEMS = _words(r"[,、\n]|\band\b|(?<=[一-鿿ァ-ヶー])と|と(?=[一-鿿ァ-ヶ])")
TOPICS = {
    "weather": _words(
        r"\b(?:weather|forecast|temperature|umbrella|rain(?:y|ing)?|snow(?:y|ing)?|sunny)\b|"
        r"(?<!\ba )\b(?:hot|cold|warm)\b|天気|気温|何度(?!も)|予報|[雨雪傘]|晴れ|暑い|寒い|降[りる]"
    ),
    "time": _words(
        r"^\s*/time\b|\bwhat time(?: is it)?\b|(?<!all )\bthe (?:current )?time\b|"
        r"\btime(?= (?:in|now|and)\b|\W*$)|\b(?:what|which) (?:day|date)\b|"
        r"何時(?![間にかま])|時刻|何曜日|日付|何日(?![間に])"
    ),
}
ANY_TOPIC = _words("|".join(words.pattern for words in TOPICS.values()))
CHART = _words(r"\b(?:chart|graph)\b|グラフ|チャート")
DAYS = _words(
    r"\b(?:(?:the day after )?tomorrow|today|tonight)\b|明後日|あさって|明日|今日|本日|今[夜晩]"
)
# Words that are no places; they part the places of a list.
ENGLISH = """
a about all also am an and any are at be but can could day days degrees did do does for from get
give good great have hello help here hey hi how i i'm if in is it it's its know leave let like look
me morning my need now of ok or please really right see should show so sorry talk tell thanks that
that's the then there this to trip us want was we well what what's when where which who why will
with would yes you your
"""
NO_PLACE = re.compile(
    rf"(?<![\w'-])(?:{'|'.join(ENGLISH.split())})(?![\w'-])|[^\w\s.'・-]|[\d_]+|[ぁ-ん]+|"
    # A single character before such an ending is a verb or an adjective.
    r"(?<![一-鿿])[一-鿿](?=[いうえきくけこさしすせそたちってなまみむめらりるれろわ])|"
    r"[今来]週末?|週末|現在|今(?!治)|午[前後]|最高|最低|降水確率|周辺|付近|必要|予定|旅行|本当",
    re.IGNORECASE,
)
PREPOSITION = re.compile(r"\b(?:in|at|near|for|to)\s", re.IGNORECASE)

# Cities and countries that do not give their zone its name.
CITIES = {
    "Asia/Tokyo": "osaka kyoto sapporo fukuoka nagoya yokohama kobe sendai nara "
    "日本 東京 大阪 京都 札幌 福岡 名古屋 横浜 神戸 仙台 広島 奈良 沖縄 北海道",
    "Asia/Seoul": "korea 韓国 ソウル",
    "Asia/Shanghai": "china beijing 中国 北京 上海",
    "America/New_York": "boston washington ニューヨーク ワシントン",
    "America/Los_Angeles": "california san_francisco seattle ロサンゼルス",
    "Europe/London": "england イギリス ロンドン",
    "Europe/Paris": "france フランス パリ",
}
# In a group a message mentions the bot itself so.
MENTION = re.compile(r"<@[^>]*>|(?<!\S)@\S+")
HELLO = r"(?:hi|hello|hey|good \w+)\b|こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?"
GREETING = _words(rf"^\W*(?:{HELLO})|\bhelp\b|what can you|何ができ|使い方|ヘルプ")
# A greeting with the bot's name, which is no place.
ADDRESS = _words(
    rf"^\W*(?:{HELLO})[\s,、!]*[a-zァ-ヶー]+(?:さん)?(?=\s*[,、!.。]|\s+(?:how|what|will|is|do)\b)"
)
THANKS = _words(r"^\W*(?:thanks|thank you|(?:どうも)?ありがと\w*)(?: \w+){0,3}\W*$")


def _reminder(match: re.Match[str]) -> Wish:
    what = (match["what"] + match["then"]).strip(" :,")
    span = SPANS[match["unit"].lower()].format(match["number"])
    return Wish("reminder", what, ("set_reminder", {"text": what, "in": span}))


def _poll(match: re.Match[str]) -> Wish:
    written = BETWEEN_OPTIONS.split(match["options"])
    options = dict.fromkeys(option.strip(' .!?。「」"') for option in written)
    options.pop("", None)
    named = list(options)[:MOST_OPTIONS]
    question = match["question"].strip(" 。\n,、")
    return Wish("poll", question, ("start_poll", {"question": question, "options": named}))


def _list(match: re.Match[str]) -> Wish:
    items = dict.fromkeys(item.strip(' .!。「」"') for item in BETWEEN_ITEMS.split(match["items"]))
    items.pop("", None)
    named = {"list": match["list"], "items": list(items)[:MOST_ITEMS]}
    return Wish("list", match["items"] if items else "", ("add_to_list", named))


def _sum(match: re.Match[str]) -> Wish:
    return Wish("sum", match[0], ("calculate", {"expression": match[0]}))


# What these find is the only wish of a message.
ONLY = (
    (REMINDER, _reminder),
    (REMINDER_JA, _reminder),
    (POLL, _poll),
    (LIST, _list),
    (LIST_JA, _list),
)


def wishes_of(text: str, before: Wish | None, language: str) -> list[Wish]:
    """The wishes of one message: ``And Osaka?`` has the topic of ``before``, the last wish about a
    place. Whoever names no place gets examples in ``language``."""
    plain = unicodedata.normalize("NFKC", text[:READ_AT_MOST])[:READ_AT_MOST].replace("’", "'")
    plain = ADDRESS.sub(";", MENTION.sub(" ", plain))
    for words, make in ONLY:
        if (match := words.search(plain)) and (wish := make(match)).subject:
            return [wish]
    in_signs = plain
    for words_of_sign, sign in SIGNS.items():
        in_signs = re.sub(words_of_sign, sign, in_signs, flags=re.IGNORECASE)
    sums = list(map(_sum, SUM.finditer(in_signs)))
    return _about_places(SUM.sub(";", in_signs), before, language) + sums


def _about_places(text: str, before: Wish | None, language: str) -> list[Wish]:
    """A wish for each topic of a message and each of its places."""
    topics = [topic for topic, words in TOPICS.items() if words.search(text)]
    has_chart = CHART.search(text) is not None
    rest = DAYS.sub(";", CHART.sub(";", ANY_TOPIC.sub(";", text)))
    places = _names(PREPOSITION.split(rest, maxsplit=1)[-1]) or _names(rest)
    if before is not None and not topics:
        places = [place for place in places if zone_of(place) or not before.subject]
        if places or has_chart or DAYS.search(text):
            topics = [before.intent]
    if before is not None and "weather" in topics:
        places = places or [before.subject]
    wishes: list[Wish] = []
    for topic in topics:
        for place in places or [""]:
            wishes.append(Wish(topic, place, _call(topic, place, has_chart, language)))
    return wishes


def _call(topic: str, place: str, has_chart: bool, language: str) -> Call:
    if topic == "time":
        return "get_current_time", {"time_zone": zone_of(place) or place} if place else {}
    if not place:
        return "offer_choices", {"choices": EXAMPLES[language]}
    return "get_weather", {"location": place, "chart": True} if has_chart else {"location": place}


def _names(text: str) -> list[str]:
    parts = (part.strip(" .'-") for part in NO_PLACE.split(text))
    return [part for part in parts if 0 < len(part) <= LONGEST_PLACE]


def zone_of(place: str) -> str:
    """The IANA name of a place's time zone; empty for an unknown place."""
    return _zones().get(place.lower().replace(" ", "_"), "")


@cache
def _zones() -> Mapping[str, str]:
    zones = {zone.rpartition("/")[2].lower(): zone for zone in sorted(available_timezones())}
    for zone, cities in CITIES.items():
        zones |= dict.fromkeys(cities.split(), zone)
    return zones


@dataclass(frozen=True, slots=True)
class Turn:
    """All messages after the model's last answer, and what they ask for."""

    messages: Sequence[Message]
    wishes: Sequence[Wish]
    language: str
    is_first: bool

    def results(self) -> list[tuple[Call, ToolResult]]:
        """The calls that have a result."""
        results = {one.call_id: one for message in self.messages for one in message.results}
        calls = [call for message in self.messages for call in message.calls if call.id in results]
        return [((call.name, call.arguments), results[call.id]) for call in calls]


def read_turn(messages: Sequence[Message], language: str) -> Turn:
    """The newest turn; ``language`` is that of texts of no language."""
    # Notes are data, no wishes.
    messages = [message for message in messages if not message.is_note]
    start = 0
    before: Wish | None = None
    wishes: list[Wish] = []
    for number, message in enumerate(messages, 1):
        if message.is_answer:
            start, wishes = number, []
        elif message.role == "user":
            language = language_of(message.text, language)
            found = wishes_of(message.text, before, language)
            for wish in found:
                if wish.intent in TOPICS:
                    before = wish
            wishes += [wish for wish in found if wish not in wishes]
    return Turn(messages[start:], wishes, language, is_first=start == 0)
